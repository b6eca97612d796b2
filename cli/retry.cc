#include "cli/command.h"
#include "cli/target_command.h"

namespace gyre {
namespace {

std::string RetryLine(const TargetAnswer& answer) { return Jobs(answer.jobs) + " queued anew"; }

}  // namespace

void AddRetryCommand(CLI::App& app, int* exit_code) {
  AddTargetCommand(app,
                   {.name = "retry",
                    .summary = "Queue jobs anew that failed or were canceled",
                    .footer = "All of a sweep or one job, with a fresh count of failures, from the "
                              "last checkpoint if there is\n"
                              "one. A sweep that is canceled or paused goes on.\n"
                              "\n"
                              "Examples:\n"
                              "  gyre retry table-2\n"
                              "  gyre retry 17",
                    .call = &SweepClient::Retry,
                    .say = RetryLine},
                   exit_code);
}

}  // namespace gyre
