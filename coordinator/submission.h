#pragma once

// A submitted file, parsed and made ready for the database, before the coordinator looks at it:
// pure, so that it can take its time on another thread.

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "coordinator/calls.h"
#include "results/job_weights.h"
#include "sweeps/spec/sweep_spec.h"

namespace gyre {

struct PreparedVariant {
  VariantRecord record;  // without ids
  int baseline = -1;     // index of the variant it is compared with
  int64_t parameters = 0, tokens_budget = 0;
  std::string rotation;  // JSON, per layer
};

struct PreparedSweep {
  SweepRecord record;  // without id; `resolved` is what submitting again compares
  std::vector<PreparedVariant> variants;
  std::vector<Job> jobs;
  std::vector<std::string> notes;
};

struct PreparedSubmission {
  std::vector<PreparedSweep> sweeps;
  std::vector<DatasetRecord> datasets;
  bool replace = false, fresh = false;
};

/// What reads the file: ParseSweeps with its diagnostics as one INVALID_ARGUMENT, or what a test
/// puts in its place.
using SweepParser = std::function<Result<std::vector<SweepSpec>>(const std::string& yaml,
                                                                 const SpecOptions& options)>;

/// `ask` reads the database, for the jobs that train.init_from names. The parser's error, or
/// FAILED_PRECONDITION: a data set is not among call.datasets, or initial weights are not known.
Result<PreparedSubmission> PrepareSubmission(const SubmitCall& call, const SweepParser& parser,
                                             const AskSql& ask = {});

}  // namespace gyre
