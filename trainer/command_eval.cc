#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "trainer/arguments.h"
#include "trainer/backend/create_backend.h"
#include "trainer/commands.h"
#include "trainer/data/token_list.h"
#include "trainer/data/windows.h"
#include "trainer/evaluation.h"
#include "trainer/model_folder.h"

namespace gyre {
namespace {

// Windows of `context` tokens one after another; each predicts its successors, also the first of
// the next window.
Result<LossSum> EvaluateTokens(const std::vector<int32_t>& tokens, int context, Model* model) {
  LossSum sum;
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

// What a folder's model makes of tokens from a file, or of a data set as the end of a job does.
class FolderEvaluation {
 public:
  FolderEvaluation(const Arguments& arguments, int context)
      : arguments_(arguments), context_(context) {}

  Result<LossSum> OfTokens() {
    GYRE_ASSIGN_OR_RETURN(const auto tokens, ReadTokenList(arguments_.Flag("--tokens", "")));
    if (tokens.size() < 2) return InvalidArgument("eval needs at least two tokens");
    context_ = static_cast<int>(std::min<size_t>(static_cast<size_t>(context_), tokens.size() - 1));
    GYRE_RETURN_IF_ERROR(Load(1));
    return EvaluateTokens(tokens, context_, model_.get());
  }

  Result<LossSum> OfDataset() {
    GYRE_ASSIGN_OR_RETURN(const Dataset dataset,
                          Dataset::Open(arguments_.Flag("--home", GyreHome().string()),
                                        arguments_.Flag("--dataset", "")));
    GYRE_ASSIGN_OR_RETURN(const Windows windows, Windows::Create(&dataset, context_));
    const int rows = std::max(1, kBatchTokens / context_);
    GYRE_RETURN_IF_ERROR(Load(rows));
    return EvaluateLoss(windows, windows.count(), rows, model_.get());
  }

  int context() const { return context_; }

 private:
  static constexpr int kBatchTokens = 4096;

  Status Load(int rows) {
    GYRE_ASSIGN_OR_RETURN(const int threads, arguments_.Number("--threads", 1, 1));
    GYRE_ASSIGN_OR_RETURN(backend_, CreateBackend(arguments_.Flag("--backend", "cpu"), threads));
    GYRE_ASSIGN_OR_RETURN(const PretrainedFolder folder,
                          PretrainedFolder::Open(arguments_.words[0]));
    GYRE_ASSIGN_OR_RETURN(model_,
                          ModelOf(folder, backend_.get(), rows, context_, /*training=*/false));
    return OkStatus();
  }

  const Arguments& arguments_;
  int context_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
};

Status Evaluate(const Arguments& arguments, std::ostream& out) {
  const bool dataset = arguments.flags.contains("--dataset");
  if (arguments.words.size() != 1 || dataset == arguments.flags.contains("--tokens")) {
    return InvalidArgument("eval needs a model, and --tokens FILE or --dataset HASH");
  }
  GYRE_ASSIGN_OR_RETURN(const int context, arguments.Number("--context", 512, 1));
  FolderEvaluation evaluation(arguments, context);
  GYRE_ASSIGN_OR_RETURN(const LossSum sum,
                        dataset ? evaluation.OfDataset() : evaluation.OfTokens());
  char line[512];  // a perplexity may be as long as a number gets
  std::snprintf(
      line, sizeof line, "targets %lld  loss %.6f nats  perplexity %.4f  (windows of %d)\n",
      static_cast<long long>(sum.targets), sum.mean(), std::exp(sum.mean()), evaluation.context());
  out << line;
  return OkStatus();
}

}  // namespace

int EvalCommand(const std::vector<std::string>& words, std::ostream& out, std::ostream& err) {
  const auto arguments = Arguments::Parse(
      words, {"--tokens", "--dataset", "--home", "--context", "--backend", "--threads"});
  const Status status = arguments.ok() ? Evaluate(*arguments, out) : arguments.status();
  return status.ok() ? 0 : ReportFailure(status, err);
}

}  // namespace gyre
