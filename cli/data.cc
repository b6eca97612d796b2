#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/output_table.h"
#include "cli/terminal.h"
#include "cli/text_width.h"
#include "trainer/data/corpora.h"
#include "trainer/data/dataset.h"
#include "trainer/data/source_files.h"

namespace gyre {
namespace {

constexpr size_t kShownTokens = 200;

struct Arguments {
  std::string name, license = "not stated (a user's own files)", part, package;
  std::vector<std::string> sources;
  double holdout = DatasetRequest{}.holdout;
  bool replace = false;
  OutputFormat format = OutputFormat::kTable;
};

// Without a coordinator there is nothing that could be unreachable: a mirror that doesn't answer is
// failed work.
int FailHere(const Status& status) {
  const int code = Fail(status);
  return code == kExitUnreachable ? kExitFailed : code;
}

void Print(const QueryTable& table, OutputFormat format) {
  std::fputs(RenderQueryTable(table, format, TerminalOf(STDOUT_FILENO).width).c_str(), stdout);
}

// A source as it is written in a sweep: "corpus:NAME/validation" names a part, --part does for
// everything else.
DatasetRequest RequestFor(const Arguments& arguments, const std::string& part) {
  DataConfig data;
  data.train = arguments.sources.size() == 1 ? Json(arguments.sources[0]) : Json(arguments.sources);
  data.holdout = arguments.holdout;
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
  Print(table, arguments.format);
  return kExitDone;
}

int Add(const Arguments& arguments) {
  std::vector<SourcePath> paths;
  for (const std::string& path : arguments.sources) paths.push_back({path});
  const auto files = ListSourceFiles(paths);
  if (!files.ok()) return FailHere(files.status());
  NamedCorpus corpus{arguments.name, {}, arguments.license};
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
  for (const std::string& part : parts) {
    const auto info = PrepareDataset(GyreHome(), RequestFor(arguments, part), Say,
                                     {.package = arguments.package});
    if (!info.ok() && part == "validation" && !table.rows.empty() &&
        info.status().code() == StatusCode::kInvalidArgument) {
      Say(info.status()
              .message());  // the training part stands, and a sweep may name another validation set
      continue;
    }
    if (!info.ok()) return FailHere(info.status());
    table.rows.push_back(Row(*info));
  }
  Print(table, arguments.format);
  return kExitDone;
}

// By hash or the beginning of one, else by source.
Result<DatasetInfo> Find(const Arguments& arguments) {
  const std::string& word = arguments.sources[0];
  const bool hash = arguments.sources.size() == 1 && word.size() >= 6 && word.size() <= 64 &&
                    word.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (hash && arguments.part.empty()) {
    GYRE_ASSIGN_OR_RETURN(const auto datasets, ListDatasets(GyreHome()));
    std::vector<DatasetInfo> found;
    for (const DatasetInfo& info : datasets) {
      if (info.hash.starts_with(word)) found.push_back(info);
    }
    if (found.size() == 1) return found[0];
    if (found.size() > 1)
      return InvalidArgument("several data sets begin with " + word + "; write more of the hash");
  }
  return FindDataset(GyreHome(), RequestFor(arguments, arguments.part));
}

Result<QueryTable> Describe(const Dataset& dataset, const Status& content) {
  const DatasetInfo& info = dataset.info();
  std::vector<int64_t> lengths;
  const auto starts = dataset.document_starts();
  for (size_t d = 0; d < starts.size(); ++d) {
    const int64_t end =
        d + 1 < starts.size() ? static_cast<int64_t>(starts[d + 1]) : dataset.tokens();
    lengths.push_back(end - static_cast<int64_t>(starts[d]));
  }
  std::sort(lengths.begin(), lengths.end());
  std::vector<int32_t> ids(
      static_cast<size_t>(std::min<int64_t>(lengths.empty() ? 0 : dataset.tokens(), kShownTokens)));
  GYRE_RETURN_IF_ERROR(dataset.Read(0, ids));
  std::string text;
  for (const int32_t id : ids) {
    if (id < 256) text += static_cast<char>(id);
    if (id >= 256 && !text.empty()) break;
  }
  return QueryTable{{"property", "value"},
                    {{"name", info.name},
                     {"source", info.source},
                     {"license", info.license},
                     {"hash", info.hash},
                     {"content", content.ok() ? "as its hash says" : content.message()},
                     {"tokenizer", info.tokenizer},
                     {"vocab_size", int64_t{info.vocab_size}},
                     {"bytes", info.bytes},
                     {"tokens", info.tokens},
                     {"documents", info.documents},
                     {"shortest document", lengths.front()},
                     {"median document", lengths[lengths.size() / 2]},
                     {"longest document", lengths.back()},
                     {"begins", text}}};
}

int Inspect(const Arguments& arguments) {
  const auto info = Find(arguments);
  if (!info.ok()) return FailHere(info.status());
  const auto dataset = Dataset::Open(GyreHome(), info->hash);
  if (!dataset.ok()) return FailHere(dataset.status());
  const Status content = dataset->Verify();
  const auto table = Describe(*dataset, content);
  if (!table.ok()) return FailHere(table.status());
  Print(*table, arguments.format);
  return content.ok() ? kExitDone : kExitFailed;
}

using Run = int (*)(const Arguments& arguments);

CLI::App* AddSubcommand(CLI::App* data, const char* name, const char* does, const char* footer,
                        const std::shared_ptr<Arguments>& arguments, Run run, int* exit_code) {
  auto* command = data->add_subcommand(name, does);
  command->footer(footer);
  command->callback([arguments, run, exit_code] { *exit_code = run(*arguments); });
  return command;
}

void AddSourceOptions(CLI::App* command, Arguments* arguments) {
  command
      ->add_option("SOURCE", arguments->sources,
                   "corpus:NAME, files, folders (all .txt below) or globs")
      ->required();
  command
      ->add_option("--holdout", arguments->holdout, "Share of a user's documents that is held out")
      ->check(CLI::Range(0.0, 0.999))
      ->capture_default_str();
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
  add->add_option("PATH", arguments->sources, "Files, folders (all .txt below) or globs")
      ->required();
  add->add_option("--license", arguments->license, "Recorded with every result")
      ->capture_default_str();
  add->add_flag("--replace", arguments->replace,
                "Let the name stand for these files instead of others");

  auto* prepare =
      AddSubcommand(data, "prepare", "Tokenize a text: its training part and its held-out part",
                    "Done once; sweeps do it by themselves where it is missing.\n\nExamples:\n"
                    "  gyre data prepare corpus:austen\n"
                    "  gyre data prepare corpus:austen --from r-cran-janeaustenr_1.0.0-1_all.deb\n"
                    "  gyre data prepare texts/ more.txt --holdout 0.1",
                    arguments, Prepare, exit_code);
  AddSourceOptions(prepare, arguments.get());
  prepare
      ->add_option("--from", arguments->package,
                   "The corpus's Debian package, instead of fetching it")
      ->check(CLI::ExistingFile);
  AddFormatOption(prepare, &arguments->format);

  auto* inspect = AddSubcommand(
      data, "inspect", "Size, documents and beginning of a data set; checks its content",
      "Examples:\n  gyre data inspect corpus:austen/validation\n  gyre data inspect 3fa9c1",
      arguments, Inspect, exit_code);
  AddSourceOptions(inspect, arguments.get());
  AddFormatOption(inspect, &arguments->format);
}

}  // namespace gyre
