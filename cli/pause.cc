#include "cli/command.h"
#include "cli/target_command.h"

namespace gyre {
namespace {

std::string PauseLine(const TargetAnswer& answer) {
  std::string line = "paused: " + Jobs(answer.jobs);
  if (answer.running > 0) {
    line += ", of which " + std::to_string(answer.running) +
            " running: they write a checkpoint and stop";
  }
  return line;
}

}  // namespace

void AddPauseCommand(CLI::App& app, int* exit_code) {
  AddTargetCommand(app,
                   {.name = "pause",
                    .summary = "Let a sweep or one job wait, and give its slots to others",
                    .footer = "Nothing more of it starts. Running jobs write a checkpoint, stop "
                              "within a few seconds, and free\n"
                              "their slots; gyre resume goes on from that checkpoint, and every "
                              "point comes out the same.\n"
                              "\n"
                              "Examples:\n"
                              "  gyre pause table-2\n"
                              "  gyre pause 17",
                    .call = &SweepClient::Pause,
                    .say = PauseLine},
                   exit_code);
}

}  // namespace gyre
