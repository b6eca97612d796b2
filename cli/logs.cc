#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/coordinator_option.h"
#include "cli/exit_code.h"
#include "cli/log_reader.h"
#include "cli/positive_integer.h"
#include "cli/signals.h"
#include "cli/sweep_client.h"
#include "cli/terminal.h"

namespace gyre {
namespace {

struct Arguments {
  int64_t job = 0;
  std::string coordinator;
  LogOptions options;
};

/// Whatever a trainer wrote must not move the cursor; elsewhere it goes through as it is.
std::string Harmless(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    const bool control = (c >= 0 && c < ' ' && c != '\n' && c != '\t') || c == 127;
    shown += control ? '?' : c;
  }
  return shown;
}

int RunLogs(const Arguments& arguments) {
  StopSignals signals;
  const auto client = SweepClient::Connect(arguments.coordinator);
  if (!client.ok()) return Fail(client.status());
  const auto jobs = JobClient::Open((*client)->channel());
  if (!jobs.ok()) return Fail(jobs.status());
  const bool is_terminal = isatty(STDOUT_FILENO) == 1;
  const auto write = [is_terminal](std::string_view text) {
    const std::string shown = is_terminal ? Harmless(text) : std::string(text);
    std::fwrite(shown.data(), 1, shown.size(), stdout);
    std::fflush(stdout);
  };
  const Status status =
      ReadLogs(**jobs, arguments.job, arguments.options, write, Say, signals.token());
  if (signals.signal() != 0) return 128 + signals.signal();
  return status.ok() ? kExitDone : Fail(status);
}

}  // namespace

void AddLogsCommand(CLI::App& app, int* exit_code) {
  auto* command = app.add_subcommand("logs", "A job's log, each attempt told apart");
  command->footer(
      "What the job's trainer wrote, wherever it ran. Of a long log the coordinator keeps the "
      "beginning\n"
      "and the end, and what was left out is said. --follow goes on through new attempts and ends "
      "with\n"
      "the job.\n\n"
      "Examples:\n"
      "  gyre logs 17\n"
      "  gyre logs 17 --follow --lines 20");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("JOB", arguments->job, "A job's number, as gyre status shows it")
      ->required()
      ->check(PositiveInteger());
  command->add_flag("--follow,-f", arguments->options.follow, "Go on until the job has ended");
  command->add_option("--attempt", arguments->options.attempt, "Only this attempt")
      ->check(PositiveInteger());
  command->add_option("--lines,-n", arguments->options.lines, "Only the last lines of each attempt")
      ->check(CLI::Range(1, 100000));
  AddCoordinatorOption(command, &arguments->coordinator);
  command->callback([arguments, exit_code] { *exit_code = RunLogs(*arguments); });
}

}  // namespace gyre
