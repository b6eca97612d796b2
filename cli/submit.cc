#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/files.h"
#include "cli/command.h"
#include "cli/coordinator_option.h"
#include "cli/exit_code.h"
#include "cli/follow.h"
#include "cli/key_input.h"
#include "cli/object_transfer.h"
#include "cli/positive_integer.h"
#include "cli/pretrained.h"
#include "cli/signals.h"
#include "cli/sweep_client.h"
#include "cli/sweep_file.h"
#include "cli/sweep_results.h"

namespace gyre {
namespace {

struct Arguments {
  std::string path, coordinator;
  SweepSubmission submission;
  bool watch = false;
  OutputFormat format = OutputFormat::kTable;
};

int Watch(SweepClient& client, const std::vector<std::string>& names, OutputFormat format,
          const StopSignals& signals) {
  Say("watching; q or Ctrl-C leaves, and the sweep goes on");
  std::stop_source quit;
  const std::stop_callback on_signal(signals.token(), [&quit] { quit.request_stop(); });
  Result<std::vector<SweepStatus>> ended = Cancelled("");
  {
    const KeyInput keys([&quit] { quit.request_stop(); });
    ProgressDisplay display;
    ended = FollowSweeps(client, names, display, quit.get_token());
  }
  if (quit.stop_requested()) {
    Say("no longer watching; the sweep goes on: gyre status " + names.front());
    return signals.signal() != 0 ? 128 + signals.signal() : kExitDone;
  }
  if (!ended.ok()) return Fail(ended.status());
  return PrintResults(client, *ended, format);
}

Status Upload(const std::string& coordinator, const SweepSubmission& submission,
              std::stop_token stop) {
  std::map<std::string, NamedObject> objects;  // by hash: two requests may be for the same text
  for (const auto& [key, info] : submission.datasets)
    objects[info.hash] = {{ObjectKind::kDataset, info.hash}, info.name};
  for (const auto& [folder, weights] : submission.initial_weights)
    objects[weights.hash] = {{ObjectKind::kObject, weights.hash}, folder};
  std::vector<NamedObject> wanted;
  for (auto& [hash, object] : objects) wanted.push_back(std::move(object));
  return UploadMissing(coordinator, GyreHome(), wanted, std::move(stop));
}

int RunSubmit(Arguments arguments) {
  StopSignals signals;
  // Until there is something to leave in good order, a signal ends the process at once.
  using AtOnce = std::stop_callback<void (*)()>;
  std::optional<AtOnce> at_once(std::in_place, signals.token(), [] { _exit(kExitInterrupted); });
  const auto file = LoadSweepFile(arguments.path, arguments.submission.max_jobs);
  if (!file.ok()) return Fail(file.status());
  // Before the data, which may take a while.
  const auto client = SweepClient::Connect(arguments.coordinator);
  if (!client.ok()) return Fail(client.status());
  auto datasets = PrepareDatasets(GyreHome(), file->sweeps);
  if (!datasets.ok()) {
    Fail(datasets.status());
    const bool bad = datasets.status().code() == StatusCode::kInvalidArgument;
    return bad ? kExitBadInput : kExitFailed;
  }
  auto weights = PrepareWeights(GyreHome(), file->sweeps, *datasets);
  if (!weights.ok()) return Fail(weights.status());
  SweepSubmission& submission = arguments.submission;
  submission.initial_weights = *std::move(weights);
  submission.yaml = file->yaml;
  submission.file = file->file;
  submission.folder = file->folder;
  submission.extended = file->extended;
  submission.datasets = *std::move(datasets);
  if (Status sent = Upload(arguments.coordinator, submission, signals.token()); !sent.ok())
    return Fail(sent);
  const auto sweeps = (*client)->Submit(submission);
  if (!sweeps.ok()) return Fail(sweeps.status());
  std::vector<std::string> names;
  for (const SubmittedSweep& sweep : *sweeps) {
    SaySubmitted(sweep);
    if (!arguments.watch) {
      std::printf("%lld %s\n", static_cast<long long>(sweep.id), sweep.name.c_str());
    }
    names.push_back(sweep.name);
  }
  if (!arguments.watch) {
    for (const std::string& name : names) {
      const auto sweep = (*client)->GetSweep(name);
      if (sweep.ok() && !sweep->waiting.empty()) Say(name + " cannot start yet: " + sweep->waiting);
    }
    return kExitDone;
  }
  at_once.reset();
  return Watch(**client, names, arguments.format, signals);
}

}  // namespace

void AddSubmitCommand(CLI::App& app, int* exit_code) {
  auto* command = app.add_subcommand("submit", "Hand a sweep to a coordinator");
  command->footer(
      "Checks the file, prepares the data that is missing, sends what the coordinator lacks of "
      "it,\n"
      "queues the jobs and prints the sweep's number and name. A name that was submitted before "
      "with\n"
      "the same content goes on; what has finished before, in any sweep, is reused.\n\n"
      "Examples:\n"
      "  gyre submit sweeps/quickstart.yaml\n"
      "  gyre submit sweeps/table-2.yaml --coordinator 127.0.0.1:7470 --watch");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("SWEEP.yaml", arguments->path, "The sweep's file")->required();
  command->add_flag("--watch", arguments->watch, "Show progress to the end, then the comparison");
  command->add_flag(
      "--replace", arguments->submission.replace,
      "Replace a sweep of this name that has other content (it is canceled and renamed)");
  command->add_flag("--fresh", arguments->submission.fresh, "Train again what has finished before");
  arguments->submission.max_jobs = SpecOptions().max_jobs;
  command->add_option("--max-jobs", arguments->submission.max_jobs, "Refuse to make more jobs")
      ->check(PositiveInteger())
      ->capture_default_str();
  AddCoordinatorOption(command, &arguments->coordinator);
  AddFormatOption(command, &arguments->format);
  command->callback([arguments, exit_code] { *exit_code = RunSubmit(*arguments); });
}

}  // namespace gyre
