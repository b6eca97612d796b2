#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/coordinator_option.h"
#include "cli/exit_code.h"
#include "cli/job_client.h"
#include "cli/output_job.h"
#include "cli/output_status.h"
#include "cli/sweep_client.h"
#include "cli/target_command.h"
#include "cli/terminal.h"
#include "cli/text_width.h"

namespace gyre {
namespace {

constexpr int kLastLines = 50;

struct Arguments {
  std::string target, coordinator;
  OutputFormat format = OutputFormat::kTable;
};

/// The end of the log of the last attempt that went wrong.
std::string LastWords(JobClient& client, const JobReport& job) {
  const auto failed =
      std::find_if(job.attempts.rbegin(), job.attempts.rend(), [](const AttemptReport& attempt) {
        return attempt.state == "FAILED" || attempt.state == "LOST";
      });
  if (failed == job.attempts.rend() || job.state == "SUCCEEDED") return "";
  const auto log = client.ReadLastLines(job.id, failed->number, kLastLines);
  // What it is about is said already; a log that is not there is no failure.
  if (!log.ok() || log->bytes.empty()) return "";
  std::string text =
      "\nthe last lines of the log of attempt " + std::to_string(failed->number) + ":\n";
  for (size_t begin = 0; begin < log->bytes.size();) {
    const size_t end = std::min(log->bytes.find('\n', begin), log->bytes.size());
    text += "  " + Visible(log->bytes.substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  return text;
}

int RunExplain(const Arguments& arguments) {
  const auto client = SweepClient::Connect(arguments.coordinator);
  if (!client.ok()) return Fail(client.status());
  const int width = TerminalOf(STDOUT_FILENO).width;
  const SweepOrJob target = ParseTarget(arguments.target);
  if (target.job == 0) {
    const auto sweep = (*client)->GetSweep(target.sweep);
    if (!sweep.ok()) return Fail(sweep.status());
    std::fputs(RenderStatus(*sweep, arguments.format, width, /*height=*/0).c_str(), stdout);
    return kExitDone;
  }
  const auto jobs = JobClient::Open((*client)->channel());
  if (!jobs.ok()) return Fail(jobs.status());
  const auto job = (*jobs)->GetJob(target.job);
  if (!job.ok()) return Fail(job.status());
  std::string text = RenderJob(*job, arguments.format, width);
  if (arguments.format == OutputFormat::kTable) text += LastWords(**jobs, *job);
  std::fputs(text.c_str(), stdout);
  return kExitDone;
}

}  // namespace

void AddExplainCommand(CLI::App& app, int* exit_code) {
  auto* command = app.add_subcommand("explain", "Why a job waits or how it ended, and what to do");
  command->footer(
      "What keeps a queued job from starting, as the scheduler sees it; of one that has ended, "
      "each\n"
      "attempt, what was tried again and why not any more, and the last lines of its log. Of a "
      "sweep,\n"
      "how it stands.\n\n"
      "Examples:\n"
      "  gyre explain 17\n"
      "  gyre explain table-2");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("TARGET", arguments->target, "A job's number, or a sweep's name")
      ->required()
      ->type_name("JOB|SWEEP");
  AddCoordinatorOption(command, &arguments->coordinator);
  AddFormatOption(command, &arguments->format);
  command->callback([arguments, exit_code] { *exit_code = RunExplain(*arguments); });
}

}  // namespace gyre
