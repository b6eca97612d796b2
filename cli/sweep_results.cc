#include "cli/sweep_results.h"

#include <unistd.h>

#include <cstdio>

#include "cli/exit_code.h"
#include "cli/output_comparison.h"
#include "cli/terminal.h"
#include "cli/text_width.h"

namespace gyre {
namespace {

Result<std::string> RenderSweep(SweepClient& client, const std::string& name, OutputFormat format) {
  GYRE_ASSIGN_OR_RETURN(const std::string json, client.Compare({name}, {}));
  GYRE_ASSIGN_OR_RETURN(const Comparison comparison, ComparisonFromJson(json));
  return RenderComparison(comparison, format, TerminalOf(STDOUT_FILENO).width);
}

/// Several comparisons are one JSON array; in the other formats a line divides them.
std::string Join(const std::vector<std::string>& comparisons, OutputFormat format) {
  if (comparisons.size() == 1) return comparisons.front();
  const bool json = format == OutputFormat::kJson;
  std::string text;
  for (const std::string& comparison : comparisons) {
    if (!text.empty()) text += json ? "," : "\n";
    text += comparison;
  }
  return json ? "[" + text + "]\n" : text;
}

}  // namespace

int PrintResults(SweepClient& client, const std::vector<SweepStatus>& sweeps, OutputFormat format) {
  int exit_code = kExitDone;
  std::vector<std::string> comparisons;
  for (const SweepStatus& sweep : sweeps) {
    if (sweep.paused_itself()) {
      Say("error: " + Visible(sweep.name) + " has paused itself: " + Visible(sweep.pause_reason) +
          "; when the cause is gone, submit it again or gyre retry " + sweep.name);
      exit_code = kExitFailed;
      continue;
    }
    Result<std::string> text = RenderSweep(client, sweep.name, format);
    if (text.ok()) {
      comparisons.push_back(*std::move(text));
    } else {
      Fail(text.status());
      exit_code = kExitFailed;
    }
  }
  if (!comparisons.empty()) std::fputs(Join(comparisons, format).c_str(), stdout);
  std::fflush(stdout);
  for (const SweepStatus& sweep : sweeps) {
    if (sweep.paused_itself()) continue;
    for (const FailedJobStatus& job : sweep.failures) {
      Say("error: " + sweep.name + ": " + Visible(job.variant) + " seed " +
          std::to_string(job.seed) + " failed: " + Visible(job.error));
      exit_code = kExitFailed;
    }
    if (sweep.jobs.canceled > 0) {
      Say("error: " + sweep.name + ": " + std::to_string(sweep.jobs.canceled) + " of " +
          std::to_string(sweep.jobs.total()) + " jobs were canceled");
      exit_code = kExitFailed;
    }
  }
  return exit_code;
}

void SaySubmitted(const SubmittedSweep& sweep) {
  std::string text =
      sweep.name + ": " + std::to_string(sweep.jobs) + (sweep.jobs == 1 ? " job" : " jobs");
  if (sweep.attached) text += ", submitted before: going on with it";
  if (sweep.reused > 0) {
    text += ", " + std::to_string(sweep.reused) +
            " of them need no training (finished before, or twins)";
  }
  Say(text);
}

}  // namespace gyre
