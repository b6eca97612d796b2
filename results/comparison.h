#pragma once

// The comparison of a sweep's variants as a plain value: what `compare` computes, what the wire
// carries as JSON and what every output format is made from.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace gyre {

/// Mean of the paired differences variant - baseline over the seeds that both have, with the 95%
/// interval and the two-sided p-value of Student's t with n-1 degrees of freedom. Perplexities are
/// compared by their logarithm, so the unit is nats. low, high and p are absent with fewer than two
/// pairs, and where all pairs differ by the same.
struct Difference {
  double mean = 0;
  std::optional<double> low, high, p;
  int pairs = 0;
  std::string unit = "nats";
};

struct ComparisonRow {
  std::string sweep;
  std::string variant;
  std::string
      baseline;  // the variant this row is compared with; empty: it is a baseline, or there is none
  int n = 0;     // seeds with a value: finished and not diverged
  int seeds = 0;                    // of the variant, whatever became of them
  std::optional<double> mean, std;  // of the metric as it is (std with n - 1; absent below two)
  std::optional<Difference>
      difference;      // absent for a baseline, without pairs, or with unequal token budgets
  int64_t tokens = 0;  // trained by each seed when the value was taken
  std::optional<double> tokens_per_second;
  int failed = 0, diverged = 0, unfinished = 0, canceled = 0, stopped_early = 0;
};

struct Comparison {
  std::string metric, baseline;
  std::vector<ComparisonRow> rows;
  std::vector<std::string> notes;    // "0.25-RoPE: 1 of 3 seeds diverged and is left out"
  std::vector<std::string> verdict;  // a sentence a row that was compared
};

/// The quantity of "<set>/<quantity>[@context][/bucket]": "austen/perplexity@1024" -> "perplexity".
std::string MetricQuantity(std::string_view metric);
/// The unit of differences in the metric: "nats", "bits per byte", else the quantity's name.
std::string DifferenceUnit(std::string_view metric);
bool LowerIsBetter(std::string_view metric);

/// One sentence for each row that has a difference: which way, how much, and whether the seeds can
/// tell.
std::vector<std::string> Verdict(const Comparison& comparison);

/// {"metric", "baseline", "rows": [{"variant", "n", "mean", "std", "difference": {"mean", "low",
/// "high", "p", "unit"} or null, "tokens", "tokens_per_second", "failed"}]} and more keys beside
/// these. What is absent is null.
std::string ComparisonToJson(const Comparison& comparison);
/// INVALID_ARGUMENT if the text is not what ComparisonToJson writes. Unknown keys are ignored.
Result<Comparison> ComparisonFromJson(const std::string& text);

}  // namespace gyre
