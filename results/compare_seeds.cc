// Differences over seeds.

#include <cmath>
#include <map>
#include <optional>

#include "results/compare_parts.h"
#include "results/power.h"
#include "results/statistics.h"

namespace gyre {
namespace {

struct Pairs {
  std::vector<double> differences;
  // Of the first pair that trained on different numbers of tokens.
  std::optional<std::pair<int64_t, int64_t>> unequal_tokens;
};

Pairs PairBySeed(const VariantResults& variant, const VariantResults& baseline,
                 const CompareOptions& options) {
  Pairs pairs;
  for (const SeedResult& ours : variant.seeds) {
    for (const SeedResult& theirs : baseline.seeds) {
      if (ours.seed != theirs.seed || !ours.value || !theirs.value) continue;
      // Of unequal budgets the schedules differ from the start, so as of any tokens, too.
      if (ours.tokens_budget != theirs.tokens_budget && !pairs.unequal_tokens) {
        pairs.unequal_tokens = {ours.tokens_budget, theirs.tokens_budget};
      }
      if (options.at_tokens > 0 && ours.tokens != theirs.tokens && !pairs.unequal_tokens) {
        pairs.unequal_tokens = {ours.tokens, theirs.tokens};
      }
      const double difference = DifferenceBetween(*ours.value, *theirs.value, options.metric);
      if (std::isfinite(difference)) pairs.differences.push_back(difference);
    }
  }
  return pairs;
}

/// The keys in which the two say different batches; empty: the pairs saw the same ones.
std::string DifferentBatches(const BatchSource& ours, const BatchSource& theirs) {
  std::string keys;
  const auto compare = [&](const std::string& a, const std::string& b, const char* key) {
    if (a != b) keys += (keys.empty() ? "" : ", ") + std::string(key);
  };
  compare(ours.text, theirs.text, "the training text");
  compare(ours.context, theirs.context, "data.context");
  compare(ours.packing, theirs.packing, "data.packing");
  compare(ours.batch_tokens, theirs.batch_tokens, "train.batch_tokens");
  return keys;
}

std::string Exactly(int64_t tokens) { return std::to_string(tokens) + " tokens"; }

}  // namespace

std::string OfSeeds(int count, int seeds) {
  return std::to_string(count) + " of " + std::to_string(seeds) + (seeds == 1 ? " seed" : " seeds");
}

double DifferenceBetween(double ours, double theirs, std::string_view metric) {
  const bool logarithmic = MetricQuantity(metric) == "perplexity";
  return logarithmic ? std::log(ours) - std::log(theirs) : ours - theirs;
}

Difference DifferenceOf(const std::vector<double>& differences, std::string_view metric) {
  Difference difference;
  difference.mean = Mean(differences);
  difference.pairs = static_cast<int>(differences.size());
  difference.unit = DifferenceUnit(metric);
  const auto interval = StudentT(differences);
  if (!interval) return difference;
  difference.low = interval->low;
  difference.high = interval->high;
  difference.p = interval->p;
  difference.std = SampleStd(differences);
  return difference;
}

void CompareSeeds(const ComparedRow& compared, const CompareOptions& options,
                  Comparison* comparison) {
  ComparisonRow& row = comparison->rows[compared.row];
  std::vector<std::string>& notes = comparison->notes;
  const Pairs pairs = PairBySeed(*compared.variant, *compared.baseline, options);
  const int n = static_cast<int>(pairs.differences.size());
  if (n == 0) {
    if (row.n > 0) {
      notes.push_back(row.variant + ": not compared, no seed is finished in both it and " +
                      row.baseline);
    }
    return;
  }
  if (pairs.unequal_tokens) {
    notes.push_back(row.variant + ": not compared, it trains on " +
                    Exactly(pairs.unequal_tokens->first) + " and " + row.baseline + " on " +
                    Exactly(pairs.unequal_tokens->second));
    return;
  }
  Difference& difference = row.difference.emplace(DifferenceOf(pairs.differences, options.metric));
  if (!difference.std) {
    notes.push_back(row.variant + ": no interval, " +
                    (n == 1 ? "only one seed is paired with " + row.baseline
                            : "every seed differs from " + row.baseline + " by the same"));
  }
  if (n > 1 && n < row.n) {
    notes.push_back(row.variant + ": paired with " + row.baseline + " on " + OfSeeds(n, row.n));
  }
  const std::string keys = DifferentBatches(compared.variant->batches, compared.baseline->batches);
  if (!keys.empty()) {
    notes.push_back(row.variant + ": paired with " + row.baseline +
                    " by seed alone, they see different batches: of " + keys);
  }
}

void AddPower(Comparison* comparison) {
  std::map<int, double> effects;  // by pairs: the search for one is not cheap
  for (ComparisonRow& row : comparison->rows) {
    if (!row.difference || !row.difference->std) continue;
    Difference& difference = *row.difference;
    const auto [effect, is_new] = effects.try_emplace(difference.pairs);
    if (is_new) effect->second = ResolvableEffect(difference.pairs);
    difference.resolvable = effect->second * *difference.std;
    difference.seeds_needed = PairsNeeded(difference.mean / *difference.std);
  }
}

void AdjustForFamily(Comparison* comparison) {
  std::vector<double> p;
  for (const ComparisonRow& row : comparison->rows) {
    if (row.difference && row.difference->p) p.push_back(*row.difference->p);
  }
  comparison->family = static_cast<int>(p.size());
  const std::vector<double> adjusted = HolmAdjusted(p);
  size_t next = 0;
  for (ComparisonRow& row : comparison->rows) {
    if (row.difference && row.difference->p) row.difference->p_adjusted = adjusted[next++];
  }
}

}  // namespace gyre
