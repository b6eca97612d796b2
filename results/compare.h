#pragma once

// Comparing variants over seeds, paired with the baseline seed by seed. Two halves: Compare() reads
// the database, CompareResults() is the pure function from values to rows, notes and sentences.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "results/comparison.h"
#include "results/database.h"

namespace gyre {

struct CompareOptions {
  std::string metric;     // empty = "<first validation set>/perplexity"
  std::string baseline;   // empty = each sweep's own; else VARIANT or SWEEP/VARIANT
  int64_t at_tokens = 0;  // 0 = the end of each job; else the last point at or before these tokens
};

/// What one variant with one seed came to.
struct SeedResult {
  uint64_t seed = 0;
  std::string state;  // of the job: QUEUED, RUNNING, SUCCEEDED, FAILED, STOPPED_EARLY, CANCELED
  bool diverged = false;
  std::optional<double>
      value;           // of the metric, where the job counts; absent if it has no (finite) value
  int64_t tokens = 0;  // at which the value was taken
  int64_t tokens_budget = 0;
  std::optional<double> tokens_per_second;
  std::string missing_precision;  // asked for, and of some of its attempts not given
};

struct VariantResults {
  std::string name;
  std::string
      baseline;  // the variant of its sweep that it is compared with; empty: none, or it is one
  std::vector<SeedResult> seeds;
};

struct SweepResults {
  std::string sweep;
  std::string baseline;  // as the sweep's file names it; empty = none
  std::vector<VariantResults> variants;
};

/// NOT_FOUND: no such sweep, metric or baseline; the message lists those there are.
Result<Comparison> Compare(const Database& database, const std::vector<std::string>& sweeps,
                           const CompareOptions& options);

/// `options.metric` must be given. NOT_FOUND: no such baseline.
Result<Comparison> CompareResults(const std::vector<SweepResults>& sweeps,
                                  const CompareOptions& options);

/// The variant that `variant` is compared with when the user calls the baseline `baseline`: the one
/// of this very name; else, under a grid, the one called "BASELINE key=value ..." with the same
/// grid values. Empty: none.
std::string MatchBaseline(const std::vector<VariantResults>& variants, const std::string& variant,
                          const std::string& baseline);

}  // namespace gyre
