#pragma once

// `gyre export SWEEP`: a sweep's results as files for other programs.

#include <string>

#include "base/status.h"
#include "results/job_weights.h"

namespace gyre {

/// Writes `folder`, whole or not at all, and says what is in it. `format` is csv, jsonl or
/// tensorboard.
Status ExportResults(const std::string& sweep, const std::string& format, const AskSql& ask,
                     const std::string& folder);

}  // namespace gyre
