#include <cstdio>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/coordinator_option.h"
#include "cli/exit_code.h"
#include "cli/sweep_client.h"

namespace gyre {
namespace {

struct Arguments {
  std::string target, coordinator;
};

/// A target of digits alone is a job's number; 0 = it is a sweep's name.
int64_t JobNumber(const std::string& target) {
  const bool is_number = target.find_first_not_of("0123456789") == std::string::npos;
  return is_number && target.size() < 18 ? std::stoll(target) : 0;
}

int RunCancel(const Arguments& arguments) {
  const auto client = SweepClient::Connect(arguments.coordinator);
  if (!client.ok()) return Fail(client.status());
  const int64_t job = JobNumber(arguments.target);
  const Result<int> canceled = (*client)->Cancel(job > 0 ? "" : arguments.target, job);
  if (!canceled.ok()) return Fail(canceled.status());
  std::printf("%d %s canceled\n", *canceled, *canceled == 1 ? "job" : "jobs");
  return kExitDone;
}

}  // namespace

void AddCancelCommand(CLI::App& app, int* exit_code) {
  auto* command = app.add_subcommand("cancel", "Cancel a sweep, or one job by its number");
  command->footer(
      "Queued jobs are canceled at once, running ones when their worker has stopped them. What "
      "was\n"
      "recorded stays.\n\n"
      "Examples:\n"
      "  gyre cancel table-2\n"
      "  gyre cancel 17");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("TARGET", arguments->target, "A sweep's name or a job's number")
      ->required()
      ->type_name("SWEEP|JOB");
  AddCoordinatorOption(command, &arguments->coordinator);
  command->callback([arguments, exit_code] { *exit_code = RunCancel(*arguments); });
}

}  // namespace gyre
