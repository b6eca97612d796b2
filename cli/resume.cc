#include "cli/command.h"
#include "cli/target_command.h"

namespace gyre {
namespace {

std::string ResumeLine(const TargetAnswer& answer) {
  return "resumed: " + Jobs(answer.jobs) + " to do";
}

}  // namespace

void AddResumeCommand(CLI::App& app, int* exit_code) {
  AddTargetCommand(app,
                   {.name = "resume",
                    .summary = "Go on with a sweep or a job that is paused",
                    .footer = "Also with a sweep that paused itself because its first jobs all "
                              "failed alike, when the cause is\n"
                              "gone; the jobs that have failed stay so until gyre retry. Resuming "
                              "a sweep resumes those of its\n"
                              "jobs too that were paused one by one.\n"
                              "\n"
                              "Examples:\n"
                              "  gyre resume table-2\n"
                              "  gyre resume 17",
                    .call = &SweepClient::Resume,
                    .say = ResumeLine},
                   exit_code);
}

}  // namespace gyre
