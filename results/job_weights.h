#pragma once

// A job's weights as the database has them: for train.init_from (`checkpoint:JOB`) and for
// `gyre export`.

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "results/query.h"

namespace gyre {

struct JobWeights {
  int64_t job_id = 0;
  std::string sweep, variant;
  uint64_t seed = 0;
  std::string state;  // JobState
  std::string key;
  std::string config;               // JobConfig as JSON
  std::string train_dataset;        // hash, or a list of hashes with weights (TrainText)
  std::string validation_datasets;  // {name: hash} as JSON
  std::string hash;                 // of the object with the weights
  int64_t step = 0, tokens = 0, bytes = 0;
};

/// Answers a SELECT: RunQuery() on a file, or a coordinator.
using AskSql = std::function<Result<QueryTable>(const std::string& sql)>;

/// `name` is JOB or SWEEP/VARIANT/SEED, with @STEP behind it for another checkpoint than the
/// newest; of a finished job that is its last weights. A job that reuses another's results has that
/// one's. INVALID_ARGUMENT: no such spelling. NOT_FOUND: no such job. FAILED_PRECONDITION: it has
/// no checkpoint, or none of that step (the message lists those there are).
Result<JobWeights> FindJobWeights(const std::string& name, const AskSql& ask);

}  // namespace gyre
