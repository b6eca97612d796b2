#include <csignal>
#include <memory>
#include <string>

#include "base/log.h"
#include "cli/command.h"
#include "cli/coordinator_option.h"
#include "cli/device_options.h"
#include "cli/exit_code.h"
#include "cli/signals.h"
#include "worker/agent.h"

namespace gyre {
namespace {

constexpr Millis kShutdownDeadline{60000};

int RunWorker(const WorkerOptions& options) {
  StopSignals signals;
  auto worker = Worker::Start(options);
  if (!worker.ok()) return Fail(worker.status());
  signals.OnSecond([&worker] { (*worker)->Abandon(); });
  const Status refused = (*worker)->Wait(signals.token());
  if (refused.ok()) {
    LogInfo("stopping; jobs that run write a checkpoint first (once more to end at once)");
  }
  (*worker)->Shutdown(refused.ok() ? kShutdownDeadline : Millis(0));
  signals.OnSecond({});
  if (!refused.ok()) return Fail(refused);
  return signals.signal() == SIGINT ? kExitInterrupted : kExitDone;
}

}  // namespace

void AddWorkerCommand(CLI::App& app, int* exit_code) {
  auto* command = app.add_subcommand("worker", "Run jobs of a coordinator on this machine");
  command->footer(
      "It goes on when the coordinator is away, and comes back to it by itself. Ctrl-C has running "
      "jobs write a\n"
      "checkpoint, from which they are resumed; once more ends at once.\n\n"
      "Examples:\n  gyre worker --coordinator 127.0.0.1:7470 --slots 2\n"
      "  gyre worker --coordinator gpu-box:7470 --devices cuda:0,cuda:2 --slots-per-gpu 8");
  auto options = std::make_shared<WorkerOptions>();
  AddCoordinatorOption(command, &options->coordinator);
  AddDeviceOptions(command, options.get());
  command->add_option("--cpus", options->cpus, "Cores that the jobs share (default: all)")
      ->check(CLI::Range(1, 4096));
  command
      ->add_option("--objects", options->objects,
                   "The folder of the coordinator's --objects, as this machine sees it (default: "
                   "what a job needs and makes is sent over the network)")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory);
  command->add_flag_callback(
      "--no-affinity", [options] { options->affinity.clear(); },
      "Let jobs run on any core (default: each keeps to cores of its own, where there are enough)");
  command->add_option("--name", options->name, "The worker's name (default: HOST/N)");
  command
      ->add_option("--trainer", options->trainer,
                   "The program that trains (default: gyre-trainer beside gyre)")
      ->check(CLI::ExistingFile);
  // For tests and drills: what the coordinator has acknowledged, batch by batch.
  command->add_flag_callback("--verbose", [] { SetLogLevel(LogLevel::kDebug); })->group("");
  command->callback([options, exit_code] { *exit_code = RunWorker(*options); });
}

}  // namespace gyre
