#pragma once

// Failures that are alike: the same error but for numbers, hashes and what a log says after the
// first line. A person reads one line for a thousand jobs, and a sweep whose first jobs all fail
// alike pauses itself. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "results/sweep_status.h"

namespace gyre {

/// The first line of an error with every number and hash as "#".
std::string AlikeError(std::string_view error);

struct FailureGroup {
  std::string error;  // the first line of the first job's
  std::vector<FailedJobStatus> jobs;
};

/// The largest first; groups of one size in order of their first job.
std::vector<FailureGroup> GroupFailures(const std::vector<FailedJobStatus>& failures);

}  // namespace gyre
