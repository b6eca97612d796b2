#include <cstdio>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/coordinator_option.h"
#include "cli/exit_code.h"
#include "cli/follow.h"
#include "cli/key_input.h"
#include "cli/signals.h"
#include "cli/sweep_client.h"
#include "cli/sweep_results.h"

namespace gyre {
namespace {

struct Arguments {
  std::string sweep, coordinator;
  OutputFormat format = OutputFormat::kTable;
};

int RunWatch(const Arguments& arguments) {
  StopSignals signals;
  const auto client = SweepClient::Connect(arguments.coordinator);
  if (!client.ok()) return Fail(client.status());
  std::vector<std::string> names;
  if (!arguments.sweep.empty()) names.push_back(arguments.sweep);

  std::stop_source quit;
  const std::stop_callback on_signal(signals.token(), [&quit] { quit.request_stop(); });
  Result<std::vector<SweepStatus>> ended = Cancelled("");
  {
    const KeyInput keys([&quit] { quit.request_stop(); });
    ProgressDisplay display(stdout);
    ended = FollowSweeps(**client, names, display, quit.get_token());
  }
  if (signals.signal() != 0) return 128 + signals.signal();
  if (quit.stop_requested()) return kExitDone;
  if (!ended.ok()) return Fail(ended.status());
  return PrintResults(**client, *ended, arguments.format);
}

}  // namespace

void AddWatchCommand(CLI::App& app, int* exit_code) {
  auto* command = app.add_subcommand("watch", "Follow a sweep, or all that goes on, live");
  command->footer(
      "Jobs, tokens per second, loss, the time left, workers and failures, as they change; in a "
      "pipe\n"
      "plain lines. It ends with the sweep and prints the comparison, exit code 1 if a job has "
      "failed or\n"
      "the sweep has paused itself. q or Ctrl-C leaves; the sweep goes on. A coordinator that is "
      "started\n"
      "anew is found again.\n\n"
      "Examples:\n"
      "  gyre watch table-2\n"
      "  gyre watch --coordinator 127.0.0.1:7470");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("SWEEP", arguments->sweep, "A sweep's name (default: every sweep there is)");
  AddCoordinatorOption(command, &arguments->coordinator);
  AddFormatOption(command, &arguments->format);
  command->callback([arguments, exit_code] { *exit_code = RunWatch(*arguments); });
}

}  // namespace gyre
