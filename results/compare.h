#pragma once

// Comparing variants over seeds, paired with the baseline seed by seed: jobs of one seed start from
// the same weights and, on the same data, see the same batches. Two halves: Compare() reads the
// database, CompareResults() is the pure function from values to rows, notes and sentences.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "results/comparison.h"
#include "results/database.h"

namespace gyre {

struct CompareOptions {
  // Empty = perplexity on the first validation set; for curves, its loss_sample.
  std::string metric;
  std::string baseline;   // empty = each sweep's own; else VARIANT or SWEEP/VARIANT
  int64_t at_tokens = 0;  // 0 = the end of each job; else the last point at or before these tokens
  bool by_step = false;   // the differences at each place of the curves, too
  std::optional<double> reach;  // the tokens at which the curves reach this value, too
  // Intervals over documents; absent = where at most kMostVariantsWithDocuments are compared.
  std::optional<bool> documents;
};
inline constexpr int kMostVariantsWithDocuments = 100;
inline constexpr size_t kMostSteps = 100000;  // which as JSON still are one message

/// One value of a curve that is finite.
struct CurveValue {
  int64_t tokens = 0;
  double value = 0;
};

/// The validation set's documents, or groups of neighbours: predictions and the sum of the losses.
struct DocumentSums {
  std::vector<double> targets, nats;
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
  std::vector<CurveValue> curve;  // by tokens; where asked for and not diverged
  int not_finite = 0;             // points that the curve lacks
  DocumentSums documents;         // where asked for, known, and what the metric is made of
};

/// What, beside the seed, says which batches a job sees (docs/data.md, "The order of training").
struct BatchSource {
  std::string text, context, packing, batch_tokens;
};

struct VariantResults {
  std::string name;
  std::string
      baseline;  // the variant of its sweep that it is compared with; empty: none, or it is one
  std::vector<SeedResult> seeds;
  BatchSource batches;
};

struct SweepResults {
  std::string sweep;
  std::string baseline;  // as the sweep's file names it; empty = none
  std::vector<VariantResults> variants;
};

/// NOT_FOUND: no such sweep, metric or baseline; the message lists those there are.
/// INVALID_ARGUMENT: what was asked for cannot be had of the metric. RESOURCE_EXHAUSTED: as below.
Result<Comparison> Compare(const Database& database, const std::vector<std::string>& sweeps,
                           const CompareOptions& options);

/// `options.metric` must be given. NOT_FOUND: no such baseline. RESOURCE_EXHAUSTED: more than
/// kMostSteps differences by step.
Result<Comparison> CompareResults(const std::vector<SweepResults>& sweeps,
                                  const CompareOptions& options);

/// The variant that `variant` is compared with when the user calls the baseline `baseline`: the one
/// of this very name; else, under a grid, the one called "BASELINE key=value ..." with the same
/// grid values. Empty: none.
std::string MatchBaseline(const std::vector<VariantResults>& variants, const std::string& variant,
                          const std::string& baseline);

}  // namespace gyre
