// The pure half of the comparison: from the values of seeds to rows, notes and sentences.

#include <algorithm>

#include "results/compare_parts.h"
#include "results/statistics.h"

namespace gyre {
namespace {

struct Reference {
  const SweepResults* sweep = nullptr;
  const VariantResults* variant = nullptr;
};

const VariantResults* FindVariant(const SweepResults& sweep, const std::string& name) {
  for (const VariantResults& variant : sweep.variants) {
    if (variant.name == name) return &variant;
  }
  return nullptr;
}

/// A grid's part of a name: one or more " key=value".
bool IsGridSuffix(std::string_view text) {
  if (text.empty()) return false;
  while (!text.empty()) {
    if (text.front() != ' ') return false;
    text.remove_prefix(1);
    const std::string_view word = text.substr(0, text.find(' '));
    const size_t equals = word.find('=');
    if (equals == 0 || equals == std::string_view::npos) return false;
    text.remove_prefix(word.size());
  }
  return true;
}

/// `baseline` is the user's, VARIANT or SWEEP/VARIANT, and may be in another sweep than the row; or
/// it is empty, and the variant's own counts.
Reference FindReference(const std::vector<SweepResults>& sweeps, const SweepResults& sweep,
                        const VariantResults& variant, const std::string& baseline) {
  if (baseline.empty()) return {&sweep, FindVariant(sweep, variant.baseline)};
  for (const SweepResults& other : sweeps) {
    if (!baseline.starts_with(other.sweep + "/")) continue;
    const std::string name =
        MatchBaseline(other.variants, variant.name, baseline.substr(other.sweep.size() + 1));
    if (const VariantResults* found = FindVariant(other, name)) return {&other, found};
  }
  std::string name = MatchBaseline(sweep.variants, variant.name, baseline);
  if (const VariantResults* found = FindVariant(sweep, name)) return {&sweep, found};
  for (const SweepResults& other : sweeps) {
    name = MatchBaseline(other.variants, variant.name, baseline);
    if (const VariantResults* found = FindVariant(other, name)) return {&other, found};
  }
  return {};
}

void CountStates(const VariantResults& variant, ComparisonRow* row) {
  row->seeds = static_cast<int>(variant.seeds.size());
  for (const SeedResult& seed : variant.seeds) {
    if (seed.value) ++row->n;
    if (seed.diverged) ++row->diverged;
    if (seed.state == "FAILED") ++row->failed;
    if (seed.state == "CANCELED") ++row->canceled;
    if (seed.state == "STOPPED_EARLY") ++row->stopped_early;
    if (seed.state == "QUEUED" || seed.state == "RUNNING") ++row->unfinished;
  }
}

void Summarize(const VariantResults& variant, ComparisonRow* row) {
  std::vector<double> values, speeds;
  for (const SeedResult& seed : variant.seeds) {
    if (seed.value) values.push_back(*seed.value);
    if (seed.value) row->tokens = std::max(row->tokens, seed.tokens);
    if (seed.tokens_per_second) speeds.push_back(*seed.tokens_per_second);
  }
  if (values.empty() && !variant.seeds.empty()) row->tokens = variant.seeds.front().tokens_budget;
  if (!values.empty()) row->mean = Mean(values);
  row->std = SampleStd(values);
  if (!speeds.empty()) row->tokens_per_second = Mean(speeds);
}

void NoteSeedsLeftOut(const ComparisonRow& row, bool at_end, std::vector<std::string>* notes) {
  const auto note = [&](int count, const std::string& what) {
    if (count > 0) notes->push_back(row.variant + ": " + OfSeeds(count, row.seeds) + " " + what);
  };
  note(row.diverged, "diverged and left out");
  note(row.failed, "failed");
  note(row.canceled, "canceled");
  if (at_end) note(row.stopped_early, "stopped early and left out");
  if (row.unfinished > 0) {
    notes->push_back(row.variant + ": unfinished, " + OfSeeds(row.n, row.seeds) + " so far");
  }
}

// Differences between precisions are small and may still be as large as those that are compared.
void NotePrecision(const VariantResults& variant, std::vector<std::string>* notes) {
  std::string missing;
  int count = 0;
  for (const SeedResult& seed : variant.seeds) {
    if (!seed.value || seed.missing_precision.empty()) continue;
    missing = seed.missing_precision;
    ++count;
  }
  if (count == 0) return;
  notes->push_back(variant.name + ": " + OfSeeds(count, static_cast<int>(variant.seeds.size())) +
                   " asked for " + missing +
                   " and trained, wholly or in part, in float32: a machine had no instructions "
                   "for it");
}

std::string Exactly(int64_t tokens) { return std::to_string(tokens) + " tokens"; }

std::string ListVariants(const std::vector<SweepResults>& sweeps) {
  std::string list;
  for (const SweepResults& sweep : sweeps) {
    for (const VariantResults& variant : sweep.variants) {
      list += (list.empty() ? "'" : ", '") + variant.name + "'";
    }
  }
  return list;
}

/// The name for the head of the comparison: what the user or the sweep said, several sweeps'
/// joined.
std::string BaselineName(const std::vector<SweepResults>& sweeps, const std::string& given) {
  if (!given.empty()) return given;
  std::vector<std::string> names;
  for (const SweepResults& sweep : sweeps) {
    const std::string& name = sweep.baseline;
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : ", ") + name;
  return joined;
}

}  // namespace

std::string MatchBaseline(const std::vector<VariantResults>& variants, const std::string& variant,
                          const std::string& baseline) {
  std::string best;
  for (const VariantResults& candidate : variants) {
    if (candidate.name == baseline) return baseline;
    if (!candidate.name.starts_with(baseline + " ")) continue;
    const std::string_view suffix = std::string_view(candidate.name).substr(baseline.size());
    if (IsGridSuffix(suffix) && variant.ends_with(suffix) &&
        (best.empty() || candidate.name.size() < best.size())) {
      best = candidate.name;
    }
  }
  return best;
}

bool HasValues(const Comparison& comparison) {
  for (const ComparisonRow& row : comparison.rows) {
    if (row.n > 0) return true;
  }
  return false;
}

Result<Comparison> CompareResults(const std::vector<SweepResults>& sweeps,
                                  const CompareOptions& options) {
  Comparison comparison;
  comparison.metric = options.metric;
  comparison.baseline = BaselineName(sweeps, options.baseline);
  bool found_baseline = false;
  std::vector<ComparedRow> compared;
  for (const SweepResults& sweep : sweeps) {
    for (const VariantResults& variant : sweep.variants) {
      ComparisonRow& row = comparison.rows.emplace_back();
      row.sweep = sweep.sweep;
      row.variant = variant.name;
      CountStates(variant, &row);
      Summarize(variant, &row);
      NoteSeedsLeftOut(row, options.at_tokens == 0, &comparison.notes);
      NotePrecision(variant, &comparison.notes);
      const Reference reference = FindReference(sweeps, sweep, variant, options.baseline);
      if (reference.variant == nullptr) continue;
      found_baseline = true;
      if (reference.variant == &variant) continue;
      row.baseline = reference.sweep == &sweep
                         ? reference.variant->name
                         : reference.sweep->sweep + "/" + reference.variant->name;
      compared.push_back({comparison.rows.size() - 1, &variant, reference.variant});
      CompareSeeds(compared.back(), options, &comparison);
    }
  }
  if (!options.baseline.empty() && !found_baseline) {
    return NotFound("no variant is called '" + options.baseline +
                    "'; there are: " + ListVariants(sweeps));
  }
  const std::string set = options.metric.substr(0, options.metric.find('/'));
  if (options.at_tokens > 0 && set != "train" && !HasValues(comparison)) {
    comparison.notes.push_back(
        "no job has " + options.metric + " by " + Exactly(options.at_tokens) +
        ": on the way there are losses of a sample, --metric " + set + "/loss_sample");
  }
  if (comparison.baseline.empty()) {
    comparison.notes.push_back(
        "no baseline, so no differences: name one with --baseline VARIANT, or with 'baseline:' in "
        "the sweep");
  }
  AddPower(&comparison);
  AdjustForFamily(&comparison);
  CompareDocuments(compared, &comparison);
  if (options.by_step) {
    CompareCurves(compared, &comparison);
    const size_t steps = comparison.by_step->rows.size();
    if (steps > kMostSteps) {
      return ResourceExhausted("the curves differ at " + std::to_string(steps) + " places, and " +
                               std::to_string(kMostSteps) +
                               " are shown at most: compare as of some tokens with --at, or read "
                               "the view 'curves' with gyre query");
    }
  }
  if (options.reach) CompareReach(sweeps, compared, *options.reach, &comparison);
  comparison.verdict = Verdict(comparison);
  return comparison;
}

}  // namespace gyre
