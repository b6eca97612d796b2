#pragma once

// The lines that a sweep being followed is drawn with, each cut at the width it is given. Pure.

#include <string>
#include <vector>

#include "results/sweep_status.h"

namespace gyre {

/// "quickstart  4 of 12 done, 1 failed, 2 running, 58.2k tokens/s, ETA 2m 10s".
std::string SweepLine(const SweepStatus& sweep, const std::vector<RunningJobStatus>& running,
                      int width);

/// "  [#####>>......x]  41% of 19.2M tokens, loss 2.412": how the jobs stand, one sign each where
/// they fit: # succeeded, > running, . queued, x failed, - canceled or stopped early.
std::string StateLine(const SweepStatus& sweep, const std::vector<RunningJobStatus>& running,
                      int width);

/// What keeps the sweep or its coordinator, a line each; none if nothing does.
std::vector<std::string> TroubleLines(const SweepStatus& sweep, int width);

/// "  NoPE seed 2  [#####-----]  41%  loss 2.412  29.1k tokens/s", names in a column of
/// `name_width`.
std::string JobLine(const RunningJobStatus& job, int name_width, int width);

/// Failures that are alike in one line, the most frequent first: "  3 failed: no data (jobs 3, 7,
/// 9)".
std::vector<std::string> FailureLines(const std::vector<FailedJobStatus>& failures, int width);

/// "3 workers, 12 slots, 8 busy", then a line for each that something keeps from working. Nothing
/// of one worker that is well.
std::vector<std::string> WorkerLines(const std::vector<WorkerStatus>& workers, int width);

}  // namespace gyre
