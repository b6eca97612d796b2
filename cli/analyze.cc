#include "analysis/analyze.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sstream>

#include "analysis/model_hash.h"
#include "analysis/text_windows.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/machine.h"
#include "cli/analysis_display.h"
#include "cli/byte_display.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/output_analysis.h"
#include "cli/positive_integer.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "coordinator/store/model_results.h"
#include "trainer/data/token_list.h"
#include "trainer/pretrained/tokenizer_of.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

// More of a text is not tokenized: windows are few.
constexpr size_t kMostTextBytes = size_t{8} << 20;
constexpr int kMostContext = 1 << 24;

struct Arguments {
  std::string model, text, tokens, name, variant, database = "results.db";
  std::vector<std::string> heads, collect = {kFrequencyNorms, kLogitShares, kHeadScores};
  int context = 0, sequences = 16, threads = 0, first = kFirstTokens;
  bool replace = false;
  OutputFormat format = OutputFormat::kTable;
};

/// "LAYER:HEAD".
Result<std::pair<int, int>> ReadHead(const std::string& word) {
  std::istringstream in(word);
  int layer = -1, head = -1;
  char colon = 0;
  if (in >> layer >> colon >> head && colon == ':' && in.peek() == EOF && layer >= 0 && head >= 0) {
    return std::pair(layer, head);
  }
  return InvalidArgument("--head must be LAYER:HEAD, both counting from 0, and is '" + word + "'");
}

Status CheckCollected(const std::vector<std::string>& collect) {
  for (const std::string& name : collect) {
    if (name == kFrequencyNorms || name == kLogitShares || name == kHeadScores ||
        name == kTokenNorms) {
      continue;
    }
    return InvalidArgument("--collect has '" + name +
                           "'; there are frequency_norms, logit_shares, head_scores, token_norms");
  }
  return OkStatus();
}

/// What is looked at.
struct Text {
  std::string file, hash;
  std::vector<int32_t> ids;
  int32_t document_start = -1;
};

/// Tokenizers spell what they have no pieces for in bytes, which small models may have no tokens
/// for.
Status LeaveOutUnknown(int vocab_size, Text* text) {
  const size_t all = text->ids.size();
  std::erase_if(text->ids, [&](int32_t id) { return id >= vocab_size; });
  const size_t unknown = all - text->ids.size();
  if (unknown == 0) return OkStatus();
  if (unknown * 10 > all) {
    return InvalidArgument(text->file + ": the model has no tokens for " + std::to_string(unknown) +
                           " of " + std::to_string(all) +
                           " places: the text or the tokenizer is not one for it");
  }
  Say(std::to_string(unknown) + " of " + std::to_string(all) + " places of " + text->file +
      " are left out: the model has no tokens for them");
  return OkStatus();
}

Result<Text> TokenizeText(const fs::path& model, int vocab_size, const std::string& file) {
  Text text{file, "", {}, -1};
  GYRE_ASSIGN_OR_RETURN(std::string bytes, ReadFile(file));
  text.hash = Sha256Hex(bytes);
  if (bytes.size() > kMostTextBytes) {
    Say("the first 8 MiB of " + file + " are used");
    bytes.resize(kMostTextBytes);
  }
  const auto tokenizer = TokenizerOf(model);
  if (tokenizer.status().code() == StatusCode::kNotFound) {
    return NotFound(tokenizer.status().message() + "; --tokens FILE takes token ids instead");
  }
  GYRE_RETURN_IF_ERROR(tokenizer.status());
  (*tokenizer)->Encode(bytes, /*last=*/true, &text.ids);
  GYRE_RETURN_IF_ERROR(LeaveOutUnknown(vocab_size, &text));
  const int32_t start = (*tokenizer)->document_start();
  if (start < vocab_size) text.document_start = start;
  return text;
}

Result<Text> ReadText(const Arguments& arguments, const PretrainedFolder& model) {
  if (!arguments.text.empty()) {
    return TokenizeText(model.path, model.config.model.vocab_size, arguments.text);
  }
  Text text{arguments.tokens, "", {}, -1};
  GYRE_ASSIGN_OR_RETURN(text.ids, ReadTokenList(arguments.tokens));
  GYRE_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(arguments.tokens));
  text.hash = Sha256Hex(bytes);
  return text;
}

/// The name of a folder, or of a file without what says its format.
std::string NameOf(const fs::path& path) {
  std::error_code error;
  const fs::path plain = path.has_filename() ? path : path.parent_path();
  return fs::is_directory(plain, error) ? plain.filename().string() : plain.stem().string();
}

Result<PretrainedFolder> OpenModel(Arguments* arguments) {
  // Links are not followed: what they lead to may have a hash for a name, and no tokenizer beside.
  std::error_code error;
  const fs::path path = fs::absolute(arguments->model, error).lexically_normal();
  if (!fs::exists(path, error)) return NotFound("there is no model " + arguments->model);
  if (arguments->name.empty()) arguments->name = NameOf(path);
  if (arguments->name.find('/') != std::string::npos) {
    return InvalidArgument("--name must be without '/', as a file's name, and is '" +
                           arguments->name + "'");
  }
  if (arguments->variant.empty()) {
    arguments->variant = NameOf(arguments->text.empty() ? arguments->tokens : arguments->text);
  }
  return PretrainedFolder::Open(path);
}

int ContextOf(const Arguments& arguments, const HuggingFaceConfig& config) {
  constexpr int kDefault = 512;
  if (arguments.context > 0) return arguments.context;
  return config.context > 0 ? std::min(config.context, kDefault) : kDefault;
}

/// "16 windows of 256 tokens of quotes.txt".
std::string TextInWords(const Arguments& arguments, const std::vector<TokenWindow>& windows) {
  const std::string file = arguments.text.empty() ? arguments.tokens : arguments.text;
  return (windows.size() == 1 ? std::string("one window")
                              : std::to_string(windows.size()) + " windows") +
         " of " + std::to_string(windows[0].tokens.size()) + " tokens of " +
         fs::path(file).filename().string();
}

/// What an analysis begins with.
struct Prepared {
  PretrainedFolder folder;
  Text text;
  std::vector<TokenWindow> windows;
  AnalysisOptions options;
  ModelRecord record;
};

/// A signal ends the process at once: nothing has been written.
Result<Prepared> Prepare(Arguments* arguments, const StopSignals& signals) {
  const std::stop_callback at_once(signals.token(), [] { _exit(kExitInterrupted); });
  Prepared prepared;
  GYRE_RETURN_IF_ERROR(CheckCollected(arguments->collect));
  for (const std::string& word : arguments->heads) {
    GYRE_ASSIGN_OR_RETURN(const auto head, ReadHead(word));
    prepared.options.heads.insert(head);
  }
  GYRE_ASSIGN_OR_RETURN(prepared.folder, OpenModel(arguments));
  GYRE_ASSIGN_OR_RETURN(prepared.text, ReadText(*arguments, prepared.folder));
  const ModelConfig& model = prepared.folder.config.model;
  const int context = ContextOf(*arguments, prepared.folder.config);
  auto windows = CutWindows(prepared.text.ids, prepared.text.document_start, model.vocab_size,
                            context, arguments->sequences);
  if (!windows.ok()) return windows.status().WithContext(prepared.text.file);
  prepared.windows = *std::move(windows);
  const auto length = static_cast<int>(prepared.windows[0].tokens.size());
  if (length < context) {
    Say("the text is shorter than a window of " + std::to_string(context) +
        " tokens: it is one of " + std::to_string(length));
  } else if (static_cast<int>(prepared.windows.size()) < arguments->sequences) {
    const size_t count = prepared.windows.size();
    Say("the text has " + std::to_string(count) + " full window" + (count == 1 ? "" : "s") +
        " of " + std::to_string(length) + " tokens");
  }
  if (const int own = prepared.folder.config.context; own > 0 && length > own) {
    Say("note: the model's own context is " + std::to_string(own) + " tokens");
  }
  prepared.options.statistics.collect = arguments->collect;
  prepared.options.first_tokens = arguments->first;
  prepared.options.threads = arguments->threads > 0 ? arguments->threads : UsableCores();
  ModelRecord& record = prepared.record;
  record.name = arguments->name;
  record.variant = arguments->variant;
  record.path = prepared.folder.path.string();
  record.text = prepared.text.file;
  record.text_hash = prepared.text.hash;
  record.context = length;
  record.windows = static_cast<int64_t>(prepared.windows.size());
  record.config = ConfigJson(prepared.folder, length);
  ByteDisplay display;
  GYRE_ASSIGN_OR_RETURN(record.weights_hash,
                        HashOfModel(prepared.folder.path, [&](uint64_t done, uint64_t total) {
                          display.Show({"reading", done, total});
                        }));
  GYRE_RETURN_IF_ERROR(CheckModelPlace(arguments->database, record, arguments->replace));
  return prepared;
}

Status Keep(const Arguments& arguments, const Prepared& prepared, const ModelAnalysis& analysis) {
  ModelResults results{prepared.record, analysis.record, {}};
  results.model.rotation = RotationJson(analysis.positions);
  results.model.tokens = analysis.record.tokens;
  results.model.loss = analysis.losses.nats / static_cast<double>(analysis.losses.targets);
  for (const HeadAlignment& head : analysis.alignments) {
    results.alignments.push_back({head.layer, head.head, head.bounds, head.own, head.previous});
  }
  return WriteModelResults(arguments.database, results, Clock::Real().WallTime(),
                           arguments.replace);
}

/// A mapped file that loses its end, or whose disk fails, says so in no other way.
void EndOnBusError() {
  struct sigaction action {};
  action.sa_handler = [](int) {
    constexpr char kWords[] =
        "gyre: error: the model's file has become shorter while it was read, or its disk fails\n";
    (void)!write(STDERR_FILENO, kWords, sizeof kWords - 1);
    _exit(kExitFailed);
  };
  sigaction(SIGBUS, &action, nullptr);
}

Status Analyze(Arguments arguments) {
  EndOnBusError();
  // Threads that start later inherit that signals are not for them.
  StopSignals signals;
  signals.OnSecond([] { _exit(kExitInterrupted); });
  GYRE_ASSIGN_OR_RETURN(Prepared prepared, Prepare(&arguments, signals));
  AnalysisReport report;
  {
    AnalysisDisplay display;
    prepared.options.stop = signals.token();
    prepared.options.progress = [&](const ForwardProgress& progress) { display.Show(progress); };
    auto analysis = AnalyzeModel(prepared.folder, prepared.windows, prepared.options);
    if (!analysis.ok()) return analysis.status();
    report.analysis = *std::move(analysis);
  }
  report.name = arguments.name;
  report.variant = arguments.variant;
  report.model = ModelInWords(prepared.folder.config);
  report.text = TextInWords(arguments, prepared.windows);
  report.findings = FindIn(report.analysis.record, report.analysis.positions);
  report.heads = prepared.options.heads;
  report.context = prepared.record.context;
  const int width = TerminalOf(STDOUT_FILENO).width;
  std::fputs(RenderAnalysis(report, arguments.format, width).c_str(), stdout);
  // Last: where they cannot be kept, there is at least what was printed.
  GYRE_RETURN_IF_ERROR(Keep(arguments, prepared, report.analysis));
  Say("the results are in " + arguments.database + "; see: gyre plot " + arguments.name +
      " frequencies --db " + arguments.database);
  return OkStatus();
}

}  // namespace

void AddAnalyzeCommand(CLI::App& app, int* exit_code) {
  auto* command =
      app.add_subcommand("analyze", "Look at a pretrained model's frequencies and heads");
  command->footer(
      "Runs a model over some text, layer by layer, so that one larger than memory can be looked "
      "at, and\nmeasures what `statistics:` measures while training. The rows are in the database "
      "beside those of\nsweeps, with the model's name in place of a sweep's and the text's in "
      "place "
      "of a variant's; the same\nmodel on the same text by the same names replaces them.\n\n"
      "Examples:\n"
      "  gyre analyze models/llama --text quotes.txt\n"
      "  gyre analyze models/llama --text quotes.txt --head 0:3 --head 12:7 --format md\n"
      "  gyre plot llama frequencies --tensor k --db results.db");
  auto arguments = std::make_shared<Arguments>();
  command
      ->add_option("MODEL", arguments->model,
                   "A Hugging Face folder, a GGUF file, or llama2.c's .bin")
      ->required();
  auto* text =
      command->add_option("--text", arguments->text, "Text, which the model's own tokenizer reads")
          ->type_name("FILE");
  auto* tokens = command
                     ->add_option("--tokens", arguments->tokens,
                                  "Token ids: a JSON list, or numbers with spaces")
                     ->type_name("FILE");
  text->excludes(tokens);
  command
      ->add_option("--context", arguments->context,
                   "Tokens of a window (default: 512, or the model's own if that is less)")
      ->check(CLI::Range(2, kMostContext));
  command->add_option("--sequences", arguments->sequences, "Windows, evenly spaced over the text")
      ->check(PositiveInteger())
      ->capture_default_str();
  command
      ->add_option("--head", arguments->heads,
                   "LAYER:HEAD to show token by token; may be given more than once")
      ->allow_extra_args(false);
  command
      ->add_option("--first", arguments->first,
                   "How many tokens --head and token_norms show of the first window")
      ->check(CLI::Range(kAlignedTokens, 4096))
      ->capture_default_str();
  command
      ->add_option("--collect", arguments->collect,
                   "What is measured (default: frequency_norms,logit_shares,head_scores; there "
                   "is token_norms, too)")
      ->delimiter(',');
  command->add_option("--threads", arguments->threads, "(default: one a core)")
      ->check(PositiveInteger());
  command->add_option("--name", arguments->name, "For the results (default: the model's folder)");
  command->add_option("--variant", arguments->variant,
                      "For the results on this text (default: the text's file)");
  command->add_option("--db", arguments->database, "The results database; made where there is none")
      ->type_name("FILE")
      ->capture_default_str();
  command->add_flag("--replace", arguments->replace,
                    "Replace what is there by this name, of another model or text");
  AddFormatOption(command, &arguments->format);
  command->callback([arguments, exit_code] {
    const Status status =
        arguments->text.empty() && arguments->tokens.empty()
            ? InvalidArgument("analyze needs a text: --text FILE or --tokens FILE")
            : Analyze(*arguments);
    *exit_code = status.ok() ? kExitDone : Fail(status);
    if (status.code() == StatusCode::kUnavailable) *exit_code = kExitFailed;
  });
}

}  // namespace gyre
