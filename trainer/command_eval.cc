#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "trainer/arguments.h"
#include "trainer/backend/create_backend.h"
#include "trainer/commands.h"
#include "trainer/model_folder.h"

namespace gyre {
namespace {

// Either [1, 2, 3] or the same numbers with white space between.
Result<std::vector<int32_t>> ReadTokens(const std::string& file) {
  GYRE_ASSIGN_OR_RETURN(std::string text, ReadFile(file));
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string::npos && text[begin] == '[') {
    const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_array()) return InvalidArgument(file + " is not a JSON list of token ids");
    std::vector<int32_t> tokens;
    for (const auto& item : json) {
      if (!item.is_number_unsigned() || item.get<uint64_t>() > INT32_MAX) {
        return InvalidArgument(file + ": entry " + std::to_string(tokens.size()) +
                               " is no token id");
      }
      tokens.push_back(static_cast<int32_t>(item.get<uint64_t>()));
    }
    return tokens;
  }
  std::vector<int32_t> tokens;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (true) {
    while (at != end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n')) ++at;
    if (at == end) return tokens;
    int32_t token = 0;
    const auto [next, error] = std::from_chars(at, end, token);
    const bool ends =
        next == end || *next == ' ' || *next == '\t' || *next == '\r' || *next == '\n';
    if (error != std::errc() || token < 0 || !ends) {
      return InvalidArgument(file + ": entry " + std::to_string(tokens.size()) + " is no token id");
    }
    tokens.push_back(token);
    at = next;
  }
}

struct Evaluated {
  double nats = 0;
  int64_t targets = 0;
};

// Windows of `context` tokens one after another; each predicts its successors, also the first of
// the next window.
Result<Evaluated> EvaluateTokens(const std::vector<int32_t>& tokens, int context, Model* model) {
  Evaluated sum;
  const size_t last = tokens.size() - 1;
  for (size_t begin = 0; begin < last; begin += static_cast<size_t>(context)) {
    const size_t end = std::min(begin + static_cast<size_t>(context), last);
    Batch batch{1, static_cast<int>(end - begin), {}, {}, {}};
    batch.tokens.assign(tokens.begin() + begin, tokens.begin() + end);
    batch.targets.assign(tokens.begin() + begin + 1, tokens.begin() + end + 1);
    std::vector<float> nll(end - begin);
    const Status status = model->Evaluate(batch, nll);
    if (!status.ok()) return status.WithContext("from token " + std::to_string(begin));
    for (const float value : nll) sum.nats += value;
    sum.targets += static_cast<int64_t>(nll.size());
  }
  return sum;
}

Status Evaluate(const Arguments& arguments, std::ostream& out) {
  if (arguments.words.size() != 1 || !arguments.flags.contains("--tokens")) {
    return InvalidArgument("eval needs a folder and --tokens FILE");
  }
  GYRE_ASSIGN_OR_RETURN(const int threads, arguments.Number("--threads", 1, 1));
  GYRE_ASSIGN_OR_RETURN(int context, arguments.Number("--context", 512, 1));
  GYRE_ASSIGN_OR_RETURN(const auto tokens, ReadTokens(arguments.Flag("--tokens", "")));
  if (tokens.size() < 2) return InvalidArgument("eval needs at least two tokens");
  context = static_cast<int>(std::min<size_t>(static_cast<size_t>(context), tokens.size() - 1));
  GYRE_ASSIGN_OR_RETURN(const auto backend,
                        CreateBackend(arguments.Flag("--backend", "cpu"), threads));
  GYRE_ASSIGN_OR_RETURN(const PretrainedFolder folder, PretrainedFolder::Open(arguments.words[0]));
  GYRE_ASSIGN_OR_RETURN(const auto model,
                        ModelOf(folder, backend.get(), 1, context, /*training=*/false));
  GYRE_ASSIGN_OR_RETURN(const Evaluated sum, EvaluateTokens(tokens, context, model.get()));
  const double loss = sum.nats / static_cast<double>(sum.targets);
  char line[160];
  std::snprintf(line, sizeof line,
                "targets %lld  loss %.6f nats  perplexity %.4f  (windows of %d)\n",
                static_cast<long long>(sum.targets), loss, std::exp(loss), context);
  out << line;
  return OkStatus();
}

}  // namespace

int EvalCommand(const std::vector<std::string>& words, std::ostream& out, std::ostream& err) {
  const auto arguments =
      Arguments::Parse(words, {"--tokens", "--context", "--backend", "--threads"});
  const Status status = arguments.ok() ? Evaluate(*arguments, out) : arguments.status();
  return status.ok() ? 0 : ReportFailure(status, err);
}

}  // namespace gyre
