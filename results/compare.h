#pragma once

// The comparison of a sweep's variants: one row each, over seeds, differences paired with the baseline seed by seed.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "results/database.h"

namespace gyre {

struct CompareOptions {
  std::string metric;    // empty = "<first validation set>/perplexity"
  std::string baseline;  // empty = the sweep's own
  int64_t at_tokens = 0;  // 0 = the end; else the last point at or before these tokens
};

/// Mean of the paired differences variant - baseline over the seeds that both have, with the 95% interval and the
/// two-sided p-value of Student's t with n-1 degrees of freedom. Perplexities are compared by their logarithm, so
/// the unit is nats. low, high and p are absent with fewer than two pairs.
struct Difference {
  double mean = 0;
  std::optional<double> low, high, p;
  int pairs = 0;
  std::string unit = "nats";
};

struct ComparisonRow {
  std::string sweep;
  std::string variant;
  int n = 0;                     // finished, not diverged seeds
  std::optional<double> mean, std;  // of the metric as it is (std with n - 1; absent below two)
  std::optional<Difference> difference;  // absent for the baseline, without pairs, or with unequal token budgets
  int64_t tokens = 0;
  std::optional<double> tokens_per_second;
  int failed = 0, diverged = 0, unfinished = 0;
};

struct Comparison {
  std::string metric, baseline;
  std::vector<ComparisonRow> rows;
  std::vector<std::string> notes;  // "0.25-RoPE: 1 of 3 seeds diverged and is left out"
};

/// NOT_FOUND: no such sweep, metric or baseline; the message lists those there are.
Result<Comparison> Compare(const Database& database, const std::vector<std::string>& sweeps,
                           const CompareOptions& options);

/// {"metric", "baseline", "rows": [{"variant", "n", "mean", "std", "difference": {...} or null, "tokens",
/// "tokens_per_second", "failed"}]}, as cli.md has it.
std::string ComparisonToJson(const Comparison& comparison);

}  // namespace gyre
