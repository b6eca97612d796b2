#pragma once

// From a draft to points, variants and jobs: the cartesian product, what `exclude` drops, the
// baseline of each variant, keys, and which jobs are the same piece of work.

#include "sweeps/spec/sweep_reader.h"

namespace gyre {

/// Jobs that the draft asks for, exclusions not counted; saturates at 2^63 - 1.
int64_t CountJobs(const SweepDraft& draft);

/// "1,234,567", or "more than 10^18" for what CountJobs could not count.
std::string JobsInWords(int64_t jobs);

/// Expands the draft. Faults of merged points are reported; the result is of use only without any
/// fault.
SweepSpec Expand(SweepDraft draft, const SpecOptions& options, const ReadContext& context);

}  // namespace gyre
