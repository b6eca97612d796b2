#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "base/files.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/device_options.h"
#include "cli/exit_code.h"
#include "cli/follow.h"
#include "cli/positive_integer.h"
#include "cli/pretrained.h"
#include "cli/signals.h"
#include "cli/sweep_client.h"
#include "cli/sweep_file.h"
#include "cli/sweep_results.h"
#include "cli/terminal.h"
#include "coordinator/server.h"
#include "trainer/model/memory_estimate.h"
#include "worker/agent.h"
#include "worker/devices.h"
#include "worker/trainer_process.h"

namespace gyre {
namespace {

// A trainer that was told to stop ends its step and writes a checkpoint.
constexpr Millis kStopDeadline{30000};
constexpr Millis kEndDeadline{5000};  // nothing runs any more

struct Arguments {
  std::string path, database = "results.db";
  SweepSubmission submission;
  WorkerOptions worker;
  OutputFormat format = OutputFormat::kTable;
};

/// Nothing here is away from this machine: what says "unavailable" has failed.
int FailHere(const Status& status) {
  const int code = Fail(status);
  return code == kExitUnreachable ? kExitFailed : code;
}

/// What to train on, found before anything else is done.
Result<std::vector<DeviceInfo>> FindDevices(WorkerOptions* worker) {
  GYRE_ASSIGN_OR_RETURN(worker->trainer, FindTrainer(worker->trainer));
  worker->gpus = AskIfWanted(worker->devices, worker->trainer);
  return ChooseDevices(worker->devices, ReadMachine().cpu, *worker->gpus);
}

/// What a job needs beyond what a device has.
Status CheckFitsOn(const DeviceInfo& device, const JobConfig& config, int cpus) {
  if (!IsGpu(device)) return CheckMemory(EstimateMemory(config, cpus), device.memory_bytes);
  return CheckMemory(EstimateDeviceMemory(config), device.memory_bytes, device.name);
}

/// Where there are no other machines, a job that no device here has memory for would wait for ever.
Status CheckFits(const std::vector<SweepSpec>& sweeps, const std::vector<DeviceInfo>& devices) {
  for (const SweepSpec& sweep : sweeps) {
    for (const Variant& variant : sweep.variants) {
      if (!variant.config.train.init_from.empty()) continue;  // its shapes come with the weights
      Status fits;
      for (const DeviceInfo& device : devices) {
        fits = CheckFitsOn(device, variant.config, sweep.resources.cpus);
        if (fits.ok()) break;
      }
      GYRE_RETURN_IF_ERROR(
          fits.WithContext("sweep " + sweep.name + ", variant '" + variant.name + "'"));
    }
  }
  return OkStatus();
}

/// Reads the file and makes its data. A signal ends the process at once: nothing is half done that
/// would matter.
Result<SweepFile> Prepare(Arguments* arguments, const StopSignals& signals) {
  const std::stop_callback at_once(signals.token(), [] { _exit(kExitInterrupted); });
  GYRE_ASSIGN_OR_RETURN(SweepFile file,
                        LoadSweepFile(arguments->path, arguments->submission.max_jobs));
  GYRE_ASSIGN_OR_RETURN(const auto devices, FindDevices(&arguments->worker));
  GYRE_RETURN_IF_ERROR(CheckFits(file.sweeps, devices));
  SweepSubmission& submission = arguments->submission;
  GYRE_ASSIGN_OR_RETURN(submission.datasets, PrepareDatasets(GyreHome(), file.sweeps));
  GYRE_ASSIGN_OR_RETURN(submission.initial_weights,
                        PrepareWeights(GyreHome(), file.sweeps, submission.datasets));
  submission.yaml = file.yaml;
  submission.file = file.file;
  submission.folder = file.folder;
  submission.extended = file.extended;
  return file;
}

Result<std::vector<SweepStatus>> StatusOf(SweepClient& client,
                                          const std::vector<std::string>& names) {
  std::vector<SweepStatus> sweeps;
  for (const std::string& name : names) {
    GYRE_ASSIGN_OR_RETURN(SweepStatus sweep, client.GetSweep(name));
    sweeps.push_back(std::move(sweep));
  }
  return sweeps;
}

bool HaveEnded(const std::vector<SweepStatus>& sweeps) {
  for (const SweepStatus& sweep : sweeps) {
    if (!sweep.ended()) return false;
  }
  return true;
}

/// Trains what is left to train; CANCELLED once a signal has come and everything has stopped in
/// good order.
Result<std::vector<SweepStatus>> Train(const Arguments& arguments, const std::string& coordinator,
                                       SweepClient& client, const std::vector<std::string>& names,
                                       const StopSignals& signals) {
  WorkerOptions options = arguments.worker;
  options.coordinator = coordinator;
  GYRE_ASSIGN_OR_RETURN(const std::unique_ptr<Worker> worker, Worker::Start(options));
  ProgressDisplay display;
  Result<std::vector<SweepStatus>> ended = FollowSweeps(client, names, display, signals.token());
  if (!ended.ok() && ended.status().code() == StatusCode::kCancelled) {
    display.Print("stopping: running jobs write a checkpoint (once more to stop at once)");
  }
  display.Clear();
  worker->Shutdown(ended.ok() ? kEndDeadline : kStopDeadline);
  return ended;
}

int Run(Arguments arguments) {
  // Threads that start later inherit that signals are not for them.
  StopSignals signals;
  signals.OnSecond([] { _exit(kExitInterrupted); });
  SetLogLevel(TerminalOf(STDERR_FILENO).interactive ? LogLevel::kError : LogLevel::kWarning);
  const auto file = Prepare(&arguments, signals);
  if (!file.ok()) return FailHere(file.status());

  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.database = arguments.database;
  const auto server = CoordinatorServer::Start(options);
  if (!server.ok()) return FailHere(server.status());
  const auto client = SweepClient::Connect((*server)->address());
  if (!client.ok()) return FailHere(client.status());
  const auto submitted = (*client)->Submit(arguments.submission);
  if (!submitted.ok()) return FailHere(submitted.status());
  std::vector<std::string> names;
  for (const SubmittedSweep& sweep : *submitted) {
    SaySubmitted(sweep);
    names.push_back(sweep.name);
  }

  auto sweeps = StatusOf(**client, names);
  if (sweeps.ok() && !HaveEnded(*sweeps)) {
    sweeps = Train(arguments, (*server)->address(), **client, names, signals);
  }
  if (signals.signal() != 0) {
    Say("stopped; nothing is lost: run the same command again to go on");
    return 128 + signals.signal();
  }
  if (!sweeps.ok()) return FailHere(sweeps.status());
  const int exit_code = PrintResults(**client, *sweeps, arguments.format);
  Say("the results are in " + arguments.database);
  return exit_code;
}

}  // namespace

void AddRunCommand(CLI::App& app, int* exit_code) {
  auto* command = app.add_subcommand("run", "Run a sweep on this machine, and compare");
  command->footer(
      "Starts a coordinator and a worker by itself, shows progress, prints the comparison and "
      "leaves the\n"
      "database. Ctrl-C is safe: running it again goes on; what has finished is not trained "
      "again.\n\n"
      "Examples:\n"
      "  gyre run sweeps/quickstart.yaml\n"
      "  gyre run my-sweep.yaml --db my-results.db --slots 2 --format md");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("SWEEP.yaml", arguments->path, "The sweep's file")->required();
  command->add_option("--db", arguments->database, "The results database; made where there is none")
      ->type_name("FILE")
      ->capture_default_str();
  AddDeviceOptions(command, &arguments->worker);
  command->add_flag(
      "--replace", arguments->submission.replace,
      "Replace a sweep of this name that has other content (it is canceled and renamed)");
  command->add_flag("--fresh", arguments->submission.fresh, "Train again what has finished before");
  arguments->submission.max_jobs = SpecOptions().max_jobs;
  command->add_option("--max-jobs", arguments->submission.max_jobs, "Refuse to make more jobs")
      ->check(PositiveInteger())
      ->capture_default_str();
  AddFormatOption(command, &arguments->format);
  command->callback([arguments, exit_code] { *exit_code = Run(*arguments); });
}

}  // namespace gyre
