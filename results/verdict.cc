// What a comparison shows, in words.

#include <algorithm>
#include <cmath>

#include "results/comparison.h"
#include "results/numbers.h"
#include "results/power.h"

namespace gyre {
namespace {

// As many sentences about what was not found as anybody reads.
constexpr int kMostUndecided = 20;

std::string Seeds(int count) { return std::to_string(count) + (count == 1 ? " seed" : " seeds"); }

/// "worse than" for a loss that went up, plain "above" where we do not know what is good.
std::string Direction(std::string_view metric, bool above) {
  if (!LowerIsBetter(metric)) return above ? "higher than" : "lower than";
  return above ? "worse than" : "better than";
}

std::string Signed(double low, double high, int decimals) {
  return FormatSigned(low, decimals) + " to " + FormatSigned(high, decimals);
}

bool Excludes0(double low, double high) { return low > 0 || high < 0; }

/// What other text might have given, in the direction of the sentence.
std::string OverDocuments(const Difference& difference, bool above) {
  if (!difference.documents) return "";
  const DocumentInterval& interval = *difference.documents;
  const int decimals = DecimalsFor((interval.high - interval.low) / 2);
  const double near = above ? interval.low : -interval.high;
  const double far = above ? interval.high : -interval.low;
  return (near > 0 ? "; " : "; on other text it may not hold: ") + std::string("over ") +
         std::to_string(interval.documents) + " documents " + FormatFixed(near, decimals) + " to " +
         FormatFixed(far, decimals);
}

/// Two digits are as many as a figure has that rests on the spread of a few seeds.
std::string Roughly(int count) {
  return std::to_string(count < 100 ? count : (count + 9) / 10 * 10);
}

/// What it would take to tell.
std::string SeedsNeeded(const Difference& difference) {
  if (!difference.resolvable) return "";
  const int decimals = DecimalsFor(*difference.resolvable);
  const std::string needed = difference.seeds_needed
                                 ? "roughly " + Roughly(*difference.seeds_needed)
                                 : "more than " + std::to_string(kMostPairs);
  return "; they would show about " + FormatFixed(*difference.resolvable, decimals) +
         ", one of this size takes " + needed;
}

std::string WithoutInterval(const ComparisonRow& row, std::string_view metric) {
  const Difference& difference = *row.difference;
  if (difference.mean == 0) {
    return row.variant + " gives exactly the values of " + row.baseline + " (" +
           Seeds(difference.pairs) + ")";
  }
  const int decimals = DecimalsFor(std::abs(difference.mean) / 10);
  return row.variant + " is " + Direction(metric, difference.mean > 0) + " " + row.baseline +
         " by " + FormatFixed(std::abs(difference.mean), decimals) + " " + difference.unit +
         (difference.pairs == 1 ? " on one seed, and one seed cannot say whether that is chance"
                                : " on each of " + Seeds(difference.pairs) + " alike");
}

std::string Undecided(const ComparisonRow& row, int family) {
  const Difference& difference = *row.difference;
  const int decimals = DecimalsFor((*difference.high - *difference.low) / 2);
  const bool alone = family > 1 && Excludes0(*difference.low, *difference.high);
  std::string text = "The data cannot tell " + row.variant + " from " + row.baseline;
  if (alone) text += " once all " + std::to_string(family) + " comparisons count";
  text += " (difference " + FormatSigned(difference.mean, decimals) + " " + difference.unit +
          ", 95% " + Signed(*difference.low, *difference.high, decimals) + ", ";
  if (alone) {
    return text + "p " + FormatP(*difference.p) + ", adjusted " + FormatP(*difference.p_adjusted) +
           ", " + Seeds(difference.pairs) + ")";
  }
  return text + Seeds(difference.pairs) + SeedsNeeded(difference) + ")";
}

/// Whether there is an interval, and it is not enough once all comparisons count.
bool IsUndecided(const Difference& difference) {
  return difference.low && difference.high && difference.p &&
         difference.p_adjusted.value_or(*difference.p) >= 0.05;
}

std::string Sentence(const ComparisonRow& row, std::string_view metric, int family) {
  const Difference& difference = *row.difference;
  if (!difference.low || !difference.high || !difference.p) return WithoutInterval(row, metric);
  if (IsUndecided(difference)) return Undecided(row, family);
  const int decimals = DecimalsFor((*difference.high - *difference.low) / 2);
  const bool above = difference.mean > 0;
  const double near = above ? *difference.low : -*difference.high;
  const double far = above ? *difference.high : -*difference.low;
  return row.variant + " is " + Direction(metric, above) + " " + row.baseline + " by " +
         FormatFixed(std::abs(difference.mean), decimals) + " " + difference.unit + " (95% " +
         FormatFixed(near, decimals) + " to " + FormatFixed(far, decimals) + ", " +
         Seeds(difference.pairs) + OverDocuments(difference, above) + ")";
}

/// Whether the interval of this step excludes 0, and on which side: -1, 0, 1.
int Side(const StepDifference& row) {
  const Difference& difference = row.difference;
  if (!difference.low || !difference.high) return 0;
  return *difference.low > 0 ? 1 : *difference.high < 0 ? -1 : 0;
}

using Rows = std::vector<StepDifference>::const_iterator;

std::string StepSentence(Rows first, Rows end, std::string_view metric) {
  const StepDifference& last = *(end - 1);
  const auto with_interval = std::count_if(
      first, end, [](const StepDifference& row) { return row.difference.low.has_value(); });
  if (with_interval == 0) {
    return last.variant + ": no step has two seeds whose differences from " + last.baseline +
           " vary, so no interval";
  }
  const auto apart =
      std::count_if(first, end, [](const StepDifference& row) { return Side(row) != 0; });
  const std::string of = std::to_string(apart) + " of " + std::to_string(with_interval) +
                         (with_interval == 1 ? " step" : " steps");
  if (apart == 0) {
    return (with_interval == 1
                ? "At the one step with an interval the data cannot tell "
                : "At none of " + std::to_string(with_interval) + " steps can the data tell ") +
           last.variant + " from " + last.baseline;
  }
  if (Side(last) == 0) {
    return "The data tell " + last.variant + " from " + last.baseline + " at " + of +
           " taken alone, and not at the last";
  }
  Rows from = end;
  while (from != first && Side(*(from - 1)) == Side(last)) --from;
  return last.variant + " is " + Direction(metric, Side(last) > 0) + " " + last.baseline +
         " at every step from " + FormatCount(static_cast<double>(from->tokens)) + " tokens on (" +
         of + ", each taken alone)";
}

}  // namespace

std::vector<std::string> Verdict(const Comparison& comparison) {
  const auto undecided = std::count_if(
      comparison.rows.begin(), comparison.rows.end(),
      [](const ComparisonRow& row) { return row.difference && IsUndecided(*row.difference); });
  std::vector<std::string> sentences;
  for (const ComparisonRow& row : comparison.rows) {
    if (!row.difference) continue;
    if (undecided > kMostUndecided && IsUndecided(*row.difference)) continue;
    sentences.push_back(Sentence(row, comparison.metric, comparison.family));
  }
  if (undecided > kMostUndecided) {
    sentences.push_back("The data cannot tell " + std::to_string(undecided) +
                        " variants from the baseline; the table has their intervals");
  }
  return sentences;
}

std::vector<std::string> StepVerdict(const std::vector<StepDifference>& rows,
                                     std::string_view metric) {
  std::vector<std::string> sentences;
  for (auto first = rows.begin(); first != rows.end();) {
    const auto end = std::find_if(first, rows.end(), [&](const StepDifference& row) {
      return row.variant != first->variant || row.sweep != first->sweep;
    });
    sentences.push_back(StepSentence(first, end, metric));
    first = end;
  }
  return sentences;
}

}  // namespace gyre
