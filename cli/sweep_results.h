#pragma once

// What `gyre run` and `gyre submit --watch` say once sweeps have ended.

#include <string>
#include <vector>

#include "cli/output_format.h"
#include "cli/sweep_client.h"

namespace gyre {

/// The comparison of each sweep on standard output, the error of each failed job on stderr.
/// kExitDone, or kExitFailed if a job has failed or was canceled, or a comparison cannot be made.
int PrintResults(SweepClient& client, const std::vector<SweepStatus>& sweeps, OutputFormat format);

/// "quickstart: 12 jobs, 4 of them finished before", on stderr.
void SaySubmitted(const SubmittedSweep& sweep);

}  // namespace gyre
