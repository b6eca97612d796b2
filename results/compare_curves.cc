// Differences at each place of the curves, and the tokens at which they reach a level.

#include <cmath>
#include <map>
#include <optional>

#include "results/compare_parts.h"
#include "results/numbers.h"
#include "results/statistics.h"

namespace gyre {
namespace {

struct AtTokens {
  std::vector<double> differences, ours, theirs;
};

/// Pairs of points at the same tokens, of the seeds that both have.
std::map<int64_t, AtTokens> PairCurves(const ComparedRow& compared, const std::string& metric) {
  std::map<int64_t, AtTokens> places;
  for (const SeedResult& ours : compared.variant->seeds) {
    for (const SeedResult& theirs : compared.baseline->seeds) {
      if (ours.seed != theirs.seed || ours.tokens_budget != theirs.tokens_budget) continue;
      auto other = theirs.curve.begin();
      for (const CurveValue& point : ours.curve) {
        while (other != theirs.curve.end() && other->tokens < point.tokens) ++other;
        if (other == theirs.curve.end()) break;
        const double difference = DifferenceBetween(point.value, other->value, metric);
        if (other->tokens != point.tokens || !std::isfinite(difference)) continue;
        AtTokens& place = places[point.tokens];
        place.differences.push_back(difference);
        place.ours.push_back(point.value);
        place.theirs.push_back(other->value);
      }
    }
  }
  return places;
}

/// Where the curve first is at or below the level, on straight lines between its points.
std::optional<double> FirstAt(const std::vector<CurveValue>& curve, double level) {
  for (size_t i = 0; i < curve.size(); ++i) {
    if (curve[i].value > level) continue;
    const double tokens = static_cast<double>(curve[i].tokens);
    if (i == 0) return tokens;
    const double before = static_cast<double>(curve[i - 1].tokens);
    const double share = (curve[i - 1].value - level) / (curve[i - 1].value - curve[i].value);
    return before + share * (tokens - before);
  }
  return std::nullopt;
}

struct ReachedAt {
  double tokens = 0;
  int64_t budget = 0;  // a learning rate's schedule is of its own budget
};
using ReachedBySeed = std::map<uint64_t, ReachedAt>;

ReachedBySeed ReachedBy(const VariantResults& variant, double level) {
  ReachedBySeed reached;
  for (const SeedResult& seed : variant.seeds) {
    if (const auto tokens = FirstAt(seed.curve, level)) {
      reached[seed.seed] = {*tokens, seed.tokens_budget};
    }
  }
  return reached;
}

void CompareTokens(const ReachedBySeed& ours, const ReachedBySeed& theirs, ReachedTokens* row) {
  std::vector<double> logarithms;
  for (const auto& [seed, at] : ours) {
    const auto other = theirs.find(seed);
    if (other == theirs.end() || other->second.budget != at.budget) continue;
    if (at.tokens <= 0 || other->second.tokens <= 0) continue;
    logarithms.push_back(std::log(at.tokens / other->second.tokens));
  }
  if (logarithms.empty()) return;
  row->share = std::exp(Mean(logarithms));
  if (const auto interval = StudentT(logarithms)) {
    row->low = std::exp(interval->low);
    row->high = std::exp(interval->high);
  }
}

ReachedTokens RowOf(const ComparisonRow& row, const VariantResults& variant,
                    const ReachedBySeed& reached) {
  ReachedTokens tokens{.sweep = row.sweep, .variant = row.variant, .baseline = row.baseline};
  for (const SeedResult& seed : variant.seeds) {
    if (!seed.curve.empty()) ++tokens.seeds;
  }
  std::vector<double> values;
  for (const auto& [seed, at] : reached) values.push_back(at.tokens);
  tokens.reached = static_cast<int>(values.size());
  if (!values.empty()) tokens.mean = Mean(values);
  tokens.std = SampleStd(values);
  return tokens;
}

void NoteHoles(const std::string& name, const VariantResults& variant,
               std::vector<std::string>* notes) {
  int holes = 0;
  for (const SeedResult& seed : variant.seeds) holes += seed.not_finite;
  if (holes > 0) {
    notes->push_back(name + ": " + std::to_string(holes) +
                     (holes == 1 ? " point of its curves is" : " points of its curves are") +
                     " not finite and left out");
  }
}

}  // namespace

void CompareCurves(const std::vector<ComparedRow>& compared, Comparison* comparison) {
  ByStep& by_step = comparison->by_step.emplace();
  for (const ComparedRow& pair : compared) {
    const ComparisonRow& row = comparison->rows[pair.row];
    const auto places = PairCurves(pair, comparison->metric);
    if (places.empty()) {
      comparison->notes.push_back(row.variant + ": no seed has evaluated places in common with " +
                                  row.baseline);
    }
    for (const auto& [tokens, place] : places) {
      by_step.rows.push_back({row.sweep, row.variant, row.baseline, tokens, Mean(place.ours),
                              Mean(place.theirs),
                              DifferenceOf(place.differences, comparison->metric)});
    }
    NoteHoles(row.variant, *pair.variant, &comparison->notes);
  }
  by_step.verdict = StepVerdict(by_step.rows, comparison->metric);
}

void CompareReach(const std::vector<SweepResults>& sweeps, const std::vector<ComparedRow>& compared,
                  double level, Comparison* comparison) {
  Reach& reach = comparison->reach.emplace();
  reach.level = level;
  std::map<const VariantResults*, ReachedBySeed> reached;
  for (const SweepResults& sweep : sweeps) {
    for (const VariantResults& variant : sweep.variants) {
      reached[&variant] = ReachedBy(variant, level);
      const ComparisonRow& row = comparison->rows[reach.rows.size()];
      const ReachedTokens& tokens = reach.rows.emplace_back(RowOf(row, variant, reached[&variant]));
      const int missed = tokens.seeds - tokens.reached;
      if (missed > 0) {
        reach.notes.push_back(row.variant + ": not reached by " + OfSeeds(missed, tokens.seeds) +
                              (tokens.reached > 0 ? ", the mean is of the others" : ""));
      }
    }
  }
  for (const ComparedRow& pair : compared) {
    CompareTokens(reached[pair.variant], reached[pair.baseline], &reach.rows[pair.row]);
  }
}

}  // namespace gyre
