#pragma once

// One job in words, for `gyre explain` and `gyre logs`.

#include <string>

#include "cli/job_report.h"
#include "cli/output_format.h"

namespace gyre {

/// Why it waits or how it ended, what to do, and its attempts; JSON has the same as keys. CSV and
/// Markdown have the attempts alone. `width` as in RenderTable().
std::string RenderJob(const JobReport& job, OutputFormat format, int width);

/// "== attempt 2 of job 17: host/0, cpu, 2026-11-30 12:00:03 UTC, from step 500; LOST after 12s:
/// its worker was silent" without the end where there is none yet.
std::string AttemptHeader(const JobReport& job, const AttemptReport& attempt);

/// "LOST after 12s: its worker was silent for longer than its lease".
std::string AttemptEnding(const AttemptReport& attempt);

}  // namespace gyre
