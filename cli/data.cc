#include <unistd.h>

#include <cstdio>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "cli/byte_display.h"
#include "cli/command.h"
#include "cli/data_inspect.h"
#include "cli/exit_code.h"
#include "cli/output_table.h"
#include "cli/terminal.h"
#include "trainer/data/corpora.h"
#include "trainer/data/dataset.h"
#include "trainer/data/source_files.h"
#include "trainer/data/tokenizer_request.h"

namespace gyre {
namespace {

struct Arguments {
  std::string name, license = "not stated (a user's own files)", part, package;
  std::string tokenizer = "bytes";
  RecordFormat format_of_lines;
  std::vector<std::string> sources;
  double holdout = DatasetRequest{}.holdout;
  bool replace = false;
  OutputFormat format = OutputFormat::kTable;
};

// Without a coordinator there is nothing that could be unreachable: a mirror that doesn't answer is
// failed work. What is not there was named wrongly.
int FailHere(const Status& status) {
  const int code = Fail(status);
  if (status.code() == StatusCode::kNotFound) return kExitBadInput;
  return code == kExitUnreachable ? kExitFailed : code;
}

void Print(const QueryTable& table, OutputFormat format) {
  std::fputs(RenderQueryTable(table, format, TerminalOf(STDOUT_FILENO).width).c_str(), stdout);
}

// bytes, FILE.model, tokenizer.json, FILE.gguf, bpe:N, ids:N or ids:N:START, as a sweep would write it.
Result<Json> TokenizerOf(const std::string& text) {
  if (text == "bytes" || IsTokenizerFile(text)) return Json(text);
  const size_t colon = text.find(':'), second = text.find(':', colon + 1);
  const std::string kind = text.substr(0, colon);
  const auto number = [&text](size_t from, size_t to) {
    const std::string digits = text.substr(from, to - from);
    const bool good = !digits.empty() && digits.size() < 9 &&
                      digits.find_first_not_of("0123456789") == std::string::npos;
    return good ? std::stoi(digits) : -1;
  };
  Json tokenizer;
  if (colon != std::string::npos && kind == "bpe") {
    tokenizer = {{"train", "bpe"}, {"vocab_size", number(colon + 1, text.size())}};
  } else if (colon != std::string::npos && kind == "ids") {
    tokenizer = {{"ids", number(colon + 1, std::min(second, text.size()))}};
    if (second != std::string::npos) {
      tokenizer["document_start"] = number(second + 1, text.size());
    }
  }
  if (TokenizerRequestFromJson(tokenizer).ok() && !tokenizer.is_null()) return tokenizer;
  return InvalidArgument(
      "--tokenizer must be bytes, FILE.model, tokenizer.json, FILE.gguf, bpe:N, ids:N or ids:N:START, and is " + text);
}

// The sources as they are written in a sweep.
Json SourceOf(const Arguments& arguments) {
  const RecordFormat& format = arguments.format_of_lines;
  Json sources = Json::array();
  for (const std::string& source : arguments.sources) {
    if (format == RecordFormat() || source.starts_with("corpus:")) {
      sources.push_back(source);
    } else if (!format.field.empty()) {
      sources.push_back({{"path", source}, {"field", format.field}});
    } else {
      sources.push_back({{"path", source}, {"template", format.text_template}});
    }
  }
  return sources.size() == 1 ? sources.front() : sources;
}

// "corpus:NAME/validation" names a part, --part does for everything else.
Result<DatasetRequest> RequestFor(const Arguments& arguments, const std::string& part) {
  DataConfig data;
  data.train = SourceOf(arguments);
  data.holdout = arguments.holdout;
  GYRE_ASSIGN_OR_RETURN(data.tokenizer, TokenizerOf(arguments.tokenizer));
  DatasetRequest request = RequestsOf(data).train.front().request;
  if (!part.empty()) request.part = part;
  return request;
}

const std::vector<std::string> kColumns = {"name", "tokens",    "documents", "bytes",
                                           "hash", "tokenizer", "license",   "source"};

std::vector<QueryValue> Row(const DatasetInfo& info) {
  return {info.name, info.tokens,    info.documents, info.bytes,
          info.hash, info.tokenizer, info.license,   info.source};
}

// People tell tokenizers apart by the beginning of their hash.
std::string TokenizerForPeople(const std::string& tokenizer) {
  const size_t colon = tokenizer.find(':');
  return colon == std::string::npos ? tokenizer : tokenizer.substr(0, colon + 9);
}

void PrintDatasets(const QueryTable& table, OutputFormat format) {
  if (format != OutputFormat::kTable) return Print(table, format);
  // What goes first where the window is narrow: the license, the source, the bytes.
  TextTable text{{{"name"},
                  {"tokens", true},
                  {"documents", true},
                  {"bytes", true, 1},
                  {"hash"},
                  {"tokenizer"},
                  {"license", false, 3},
                  {"source", false, 2}},
                 {}};
  for (const std::vector<QueryValue>& row : table.rows) {
    std::vector<std::string>& cells = text.rows.emplace_back();
    for (const QueryValue& value : row) {
      const auto* number = std::get_if<int64_t>(&value);
      const auto* words = std::get_if<std::string>(&value);
      cells.push_back(number != nullptr ? std::to_string(*number) : words ? *words : "-");
    }
    cells[5] = TokenizerForPeople(cells[5]);
  }
  std::fputs(RenderTable(text, TerminalOf(STDOUT_FILENO).width).c_str(), stdout);
}

std::vector<QueryValue> NotPrepared(const std::string& name, const std::string& license) {
  return {name, {}, {}, {}, "(not prepared)", {}, license, "corpus:" + name};
}

int List(const Arguments& arguments) {
  const auto datasets = ListDatasets(GyreHome());
  if (!datasets.ok()) return FailHere(datasets.status());
  const auto named = ListNamedCorpora(GyreHome());
  if (!named.ok()) return FailHere(named.status());
  QueryTable table{kColumns, {}};
  std::set<std::string> prepared;
  for (const DatasetInfo& info : *datasets) {
    prepared.insert(info.name);
    table.rows.push_back(Row(info));
  }
  for (const BuiltInCorpus& corpus : BuiltInCorpora()) {
    if (!prepared.contains(corpus.name))
      table.rows.push_back(NotPrepared(corpus.name, corpus.license));
  }
  for (const NamedCorpus& corpus : *named) {
    if (!prepared.contains(corpus.name))
      table.rows.push_back(NotPrepared(corpus.name, corpus.license));
  }
  PrintDatasets(table, arguments.format);
  return kExitDone;
}

int Add(const Arguments& arguments) {
  std::vector<SourcePath> paths;
  for (const std::string& path : arguments.sources) {
    paths.push_back({path, arguments.format_of_lines});
  }
  const auto files = ListSourceFiles(paths);
  if (!files.ok()) return FailHere(files.status());
  NamedCorpus corpus{arguments.name, {}, arguments.license, arguments.format_of_lines};
  for (const std::string& path : arguments.sources) corpus.paths.push_back(AbsolutePath(path));
  const Status status = AddNamedCorpus(GyreHome(), corpus, arguments.replace);
  if (!status.ok()) return FailHere(status);
  uint64_t bytes = 0;
  for (const SourceFile& file : *files) bytes += file.size;
  Say("corpus:" + corpus.name + " is " + std::to_string(files->size()) + " file" +
      (files->size() == 1 ? "" : "s") + " with " + std::to_string(bytes) +
      " bytes now; `gyre data prepare corpus:" + corpus.name + "` tokenizes it");
  return kExitDone;
}

int Prepare(const Arguments& arguments) {
  QueryTable table{kColumns, {}};
  const std::vector<std::string> parts = arguments.part.empty()
                                             ? std::vector<std::string>{"train", "validation"}
                                             : std::vector<std::string>{arguments.part};
  ByteDisplay display;
  PrepareOptions options = display.Options();
  options.package = arguments.package;
  for (const std::string& part : parts) {
    const auto request = RequestFor(arguments, part);
    if (!request.ok()) return FailHere(request.status());
    const auto info = PrepareDataset(GyreHome(), *request, display.Sentences(), options);
    if (!info.ok() && part == "validation" && !table.rows.empty() &&
        info.status().code() == StatusCode::kInvalidArgument) {
      // The training part stands, and a sweep may name another validation set.
      display.Say(info.status().message());
      continue;
    }
    if (!info.ok()) return FailHere(info.status());
    table.rows.push_back(Row(*info));
  }
  PrintDatasets(table, arguments.format);
  return kExitDone;
}

// The data set with this hash, or of which this is the beginning of the hash; nothing if the word
// is none.
Result<std::optional<DatasetInfo>> FindByHash(const Arguments& arguments) {
  const std::string& word = arguments.sources[0];
  const bool hash = arguments.sources.size() == 1 && word.size() >= 6 && word.size() <= 64 &&
                    word.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!hash || !arguments.part.empty()) return std::optional<DatasetInfo>();
  GYRE_ASSIGN_OR_RETURN(const auto datasets, ListDatasets(GyreHome()));
  std::optional<DatasetInfo> found;
  for (const DatasetInfo& info : datasets) {
    if (!info.hash.starts_with(word)) continue;
    if (found) {
      return InvalidArgument("several data sets begin with " + word + "; write more of the hash");
    }
    found = info;
  }
  return found;
}

// What is to be inspected, by part: one by hash or by --part, else both that a sweep would use.
Result<std::vector<std::pair<std::string, DatasetInfo>>> FindParts(const Arguments& arguments) {
  GYRE_ASSIGN_OR_RETURN(const auto by_hash, FindByHash(arguments));
  if (by_hash) return std::vector<std::pair<std::string, DatasetInfo>>{{"value", *by_hash}};
  GYRE_ASSIGN_OR_RETURN(const DatasetRequest request, RequestFor(arguments, arguments.part));
  GYRE_ASSIGN_OR_RETURN(const DatasetInfo info, FindDataset(GyreHome(), request));
  std::vector<std::pair<std::string, DatasetInfo>> parts = {{request.part, info}};
  if (request.part != "train" || !arguments.part.empty()) return parts;
  // Which the training part has no need of: a text may be too small to hold something out.
  GYRE_ASSIGN_OR_RETURN(const DatasetRequest held_out, RequestFor(arguments, "validation"));
  if (auto validation = FindDataset(GyreHome(), held_out); validation.ok()) {
    parts.emplace_back("validation", *std::move(validation));
  }
  return parts;
}

int Inspect(const Arguments& arguments) {
  const auto infos = FindParts(arguments);
  if (!infos.ok()) return FailHere(infos.status());
  std::list<Dataset> datasets;
  std::vector<InspectedPart> parts;
  bool good = true;
  for (const auto& [part, info] : *infos) {
    auto dataset = Dataset::Open(GyreHome(), info.hash);
    if (!dataset.ok()) return FailHere(dataset.status());
    datasets.push_back(*std::move(dataset));
    parts.push_back({part, &datasets.back(), datasets.back().Verify()});
    good = good && parts.back().content.ok();
  }
  Print(DescribeParts(parts), arguments.format);
  if (arguments.format != OutputFormat::kTable || !good) return good ? kExitDone : kExitFailed;
  const Terminal terminal = TerminalOf(STDOUT_FILENO);
  for (const InspectedPart& part : parts) {
    const auto shown =
        ShowDocuments(*part.dataset, part.dataset->info().name,
                      terminal.width > 0 ? terminal.width : 100, terminal.interactive);
    if (!shown.ok()) return FailHere(shown.status());
    std::fputs(shown->c_str(), stdout);
  }
  return kExitDone;
}

using Run = int (*)(const Arguments& arguments);

CLI::App* AddSubcommand(CLI::App* data, const char* name, const char* does, const char* footer,
                        const std::shared_ptr<Arguments>& arguments, Run run, int* exit_code) {
  auto* command = data->add_subcommand(name, does);
  command->footer(footer);
  command->callback([arguments, run, exit_code] { *exit_code = run(*arguments); });
  return command;
}

void AddRecordOptions(CLI::App* command, Arguments* arguments) {
  auto* field = command->add_option("--field", arguments->format_of_lines.field,
                                    "The field of JSON lines that is the text");
  command
      ->add_option("--template", arguments->format_of_lines.text_template,
                   "The text of JSON lines from several fields: \"{question} {answer}\"")
      ->excludes(field);
}

void AddSourceOptions(CLI::App* command, Arguments* arguments) {
  command
      ->add_option("SOURCE", arguments->sources,
                   "corpus:NAME, files (.txt, .jsonl, .gz, .zst, .bin), folders or globs")
      ->required();
  command
      ->add_option("--holdout", arguments->holdout, "Share of a user's documents that is held out")
      ->check(CLI::Range(0.0, 0.999))
      ->capture_default_str();
  command
      ->add_option("--tokenizer", arguments->tokenizer,
                   "bytes, FILE.model, tokenizer.json, FILE.gguf, bpe:N (trained on the text), ids:N or "
                   "ids:N:START")
      ->capture_default_str();
  AddRecordOptions(command, arguments);
  command->add_option("--part", arguments->part, "train, validation (the held-out part), or all")
      ->check(CLI::IsMember({"train", "validation", "all"}));
}

}  // namespace

void AddDataCommand(CLI::App& app, int* exit_code) {
  auto* data = app.add_subcommand("data", "Texts, and the tokenized data sets made of them");
  data->require_subcommand(1);
  data->footer(
      "Data sets lie in $GYRE_HOME/datasets, named by their content.\n\n"
      "Examples:\n  gyre data prepare corpus:austen\n  gyre data list");
  const auto arguments = std::make_shared<Arguments>();

  auto* list =
      AddSubcommand(data, "list", "The corpora there are, and what is prepared",
                    "Example:\n  gyre data list --format json", arguments, List, exit_code);
  AddFormatOption(list, &arguments->format);

  auto* add = AddSubcommand(data, "add", "Give files of your own a name, corpus:NAME",
                            "Example:\n  gyre data add letters ~/texts/letters --license CC-BY-4.0",
                            arguments, Add, exit_code);
  add->add_option("NAME", arguments->name, "a-z, 0-9 and '-'")->required();
  add->add_option("PATH", arguments->sources, "Files, folders or globs")->required();
  AddRecordOptions(add, arguments.get());
  add->add_option("--license", arguments->license, "Recorded with every result")
      ->capture_default_str();
  add->add_flag("--replace", arguments->replace,
                "Let the name stand for these files instead of others");

  auto* prepare =
      AddSubcommand(data, "prepare", "Tokenize a text: its training part and its held-out part",
                    "Done once; sweeps do it by themselves where it is missing.\n\nExamples:\n"
                    "  gyre data prepare corpus:austen\n"
                    "  gyre data prepare corpus:austen --from r-cran-janeaustenr_1.0.0-1_all.deb\n"
                    "  gyre data prepare texts/ more.txt --holdout 0.1 --tokenizer bpe:4096\n"
                    "  gyre data prepare qa.jsonl.gz --template '{question} {answer}'",
                    arguments, Prepare, exit_code);
  AddSourceOptions(prepare, arguments.get());
  prepare
      ->add_option("--from", arguments->package,
                   "The corpus's Debian package, instead of fetching it")
      ->check(CLI::ExistingFile);
  AddFormatOption(prepare, &arguments->format);

  auto* inspect = AddSubcommand(
      data, "inspect",
      "What a model will see of a text: sizes, lengths, the first documents token by token",
      "Checks the content against the hash too.\n\nExamples:\n  gyre data inspect corpus:austen\n"
      "  gyre data inspect qa.jsonl --tokenizer bpe:4096\n  gyre data inspect 3fa9c1",
      arguments, Inspect, exit_code);
  AddSourceOptions(inspect, arguments.get());
  AddFormatOption(inspect, &arguments->format);
}

}  // namespace gyre
