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

/// What other text might have given: the bootstrap over the documents of the validation set
/// (bootstrap.h), of the difference averaged over seeds.
struct DocumentInterval {
  double low = 0, high = 0;  // 95%
  int documents = 0;
  int seeds = 0;  // pairs of jobs of which the losses of single documents are known
};

/// Mean of the paired differences variant - baseline over the seeds that both have, with the 95%
/// interval and the two-sided p-value of Student's t with n-1 degrees of freedom. Perplexities are
/// compared by their logarithm, so the unit is nats. What the spread of the differences gives is
/// absent with fewer than two pairs, and where all pairs differ by the same.
struct Difference {
  double mean = 0;
  std::optional<double> low, high, p;
  std::optional<double> p_adjusted;  // by Holm's method, over all p-values of the comparison
  std::optional<double> std;         // of the paired differences
  // Rough, both from the observed spread, for a paired t test at 0.05 with 80% power (power.h): the
  // smallest difference that so many seeds resolve, and how many seeds resolve the observed one,
  // absent where that is more than kMostPairs.
  std::optional<double> resolvable;
  std::optional<int> seeds_needed;
  std::optional<DocumentInterval> documents;
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

/// A variant against its baseline at one place of the curves: the seeds that both have a value of.
struct StepDifference {
  std::string sweep, variant, baseline;
  int64_t tokens = 0;
  double mean = 0, baseline_mean = 0;  // of the metric as it is, over the same seeds
  Difference difference;               // without the correction, the documents and the power
};

struct ByStep {
  std::vector<StepDifference> rows;  // a variant's together, by tokens
  std::vector<std::string> verdict;
};

/// The tokens at which the curves of a variant first come down to the level, linear between points.
struct ReachedTokens {
  std::string sweep, variant, baseline;  // baseline as in ComparisonRow
  int seeds = 0;                         // whose curves count
  int reached = 0;
  std::optional<double> mean, std;  // of tokens, over those that reached it
  // Tokens as a share of the baseline's: the geometric mean over the seeds that reached it in both,
  // with the 95% interval of Student's t on logarithms.
  std::optional<double> share, low, high;
};

struct Reach {
  double level = 0;
  std::vector<ReachedTokens> rows;
  std::vector<std::string> notes;
};

struct Comparison {
  std::string metric, baseline;
  std::vector<ComparisonRow> rows;
  int family = 0;                  // p-values that the correction counts: of all rows that have one
  std::optional<ByStep> by_step;   // where asked for
  std::optional<Reach> reach;      // where asked for
  std::vector<std::string> notes;  // "0.25-RoPE: 1 of 3 seeds diverged and is left out"
  std::vector<std::string> verdict;  // of the rows that were compared
};

/// The quantity of "<set>/<quantity>[@context][/bucket]": "austen/perplexity@1024" -> "perplexity".
std::string MetricQuantity(std::string_view metric);
/// The unit of differences in the metric: "nats", "bits per byte", else the quantity's name.
std::string DifferenceUnit(std::string_view metric);
bool LowerIsBetter(std::string_view metric);

/// One sentence for each row that has a difference: which way, how much, and whether the seeds can
/// tell. Whether they can is decided by the adjusted p-value. Many that they cannot tell share one.
std::vector<std::string> Verdict(const Comparison& comparison);

/// One sentence for each variant: from where on the data tell it from its baseline.
std::vector<std::string> StepVerdict(const std::vector<StepDifference>& rows,
                                     std::string_view metric);

/// {"metric", "baseline", "rows": [{"variant", "n", "mean", "std", "difference": {"mean", "low",
/// "high", "p", "unit"} or null, "tokens", "tokens_per_second", "failed"}]} and more keys beside
/// these (docs/comparisons.md lists them). What is absent is null; "by_step" and "reach" are there
/// only where they were asked for.
std::string ComparisonToJson(const Comparison& comparison);
/// INVALID_ARGUMENT if the text is not what ComparisonToJson writes. Unknown keys are ignored.
Result<Comparison> ComparisonFromJson(const std::string& text);

}  // namespace gyre
