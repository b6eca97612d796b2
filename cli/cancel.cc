#include "cli/command.h"
#include "cli/target_command.h"

namespace gyre {
namespace {

std::string CancelLine(const TargetAnswer& answer) { return Jobs(answer.jobs) + " canceled"; }

}  // namespace

void AddCancelCommand(CLI::App& app, int* exit_code) {
  AddTargetCommand(
      app,
      {.name = "cancel",
       .summary = "Cancel a sweep, or one job by its number",
       .footer = "Queued jobs are canceled at once, running ones when their worker has stopped "
                 "them, with every\n"
                 "process that they started. What was recorded stays; gyre retry goes on with it.\n"
                 "\n"
                 "Examples:\n"
                 "  gyre cancel table-2\n"
                 "  gyre cancel 17",
       .call = &SweepClient::Cancel,
       .say = CancelLine},
      exit_code);
}

}  // namespace gyre
