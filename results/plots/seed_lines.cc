#include "results/plots/seed_lines.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "results/compare_parts.h"
#include "results/statistics.h"

namespace gyre {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// What becomes of a job, the best first.
int Rank(const PlottedJob& job) {
  if (job.counts()) return 0;
  if (job.state == "RUNNING" || job.state == "QUEUED") return 1;
  return job.diverged ? 2 : 3;
}

constexpr const char* kRemarks[] = {"", "unfinished", "diverged", "ended early"};
constexpr int kWorstRank = 3;

std::string CountOf(int count, const std::string& what) {
  return count == 0 ? "" : std::to_string(count) + " " + what + ", ";
}

class LineMaker {
 public:
  LineMaker(const PlottedSweep& sweep, const std::map<int64_t, PlaceValues>& values,
            const SeedLineOptions& options)
      : sweep_(sweep), values_(values), options_(options) {}

  SeedLine Make(const PlottedVariant& variant, std::string* note) const {
    const StandingJobs standing = ChooseJobs(variant, [&](const PlottedJob& job) {
      return (job.counts() || !options_.ends_only) && !ValuesOf(variant, job).empty();
    });
    std::map<double, std::vector<double>> places;
    for (const PlottedJob* job : standing.jobs) {
      for (const auto& [x, value] : ValuesOf(variant, *job)) places[x].push_back(value);
    }
    SeedLine line;
    line.variant = &variant;
    for (const auto& [x, at] : places) {
      line.places.push_back({x, SummarizeSeeds(at, options_.spread)});
      if (at.size() < 2) continue;
      for (const double value : at) line.dots.emplace_back(x, value);
    }
    line.seeds = static_cast<int>(standing.jobs.size());
    line.remark = standing.remark;
    *note = SeedsLeftOut(variant, standing.jobs);
    return line;
  }

 private:
  /// The finite ones; of differences, where both have one.
  PlaceValues ValuesOf(const PlottedVariant& variant, const PlottedJob& job) const {
    const auto found = values_.find(job.source);
    if (found == values_.end()) return {};
    const PlaceValues* reference = nullptr;
    if (options_.difference) {
      reference = ReferenceOf(variant, job);
      if (reference == nullptr) return {};
    }
    PlaceValues result;
    for (const auto& [x, value] : found->second) {
      double shown = value;
      if (reference != nullptr) {
        const auto at = reference->find(x);
        if (at == reference->end()) continue;
        shown = DifferenceBetween(value, at->second, options_.metric);
      }
      if (std::isfinite(shown)) result[x] = shown;
    }
    return result;
  }

  const PlaceValues* ReferenceOf(const PlottedVariant& variant, const PlottedJob& job) const {
    const PlottedVariant* baseline = sweep_.Find(variant.baseline);
    if (variant.baseline.empty() || baseline == nullptr) return nullptr;
    for (const PlottedJob& other : baseline->jobs) {
      if (other.seed != job.seed || !other.counts()) continue;
      if (other.tokens_budget != job.tokens_budget) continue;  // another schedule
      const auto found = values_.find(other.source);
      return found == values_.end() ? nullptr : &found->second;
    }
    return nullptr;
  }

  const PlottedSweep& sweep_;
  const std::map<int64_t, PlaceValues>& values_;
  const SeedLineOptions& options_;
};

std::string SeedsInWords(const std::vector<SeedLine>& lines) {
  int fewest = std::numeric_limits<int>::max(), most = 0;
  for (const SeedLine& line : lines) {
    fewest = std::min(fewest, line.seeds);
    most = std::max(most, line.seeds);
  }
  if (most <= 1) {
    const bool same = !lines.empty() && std::all_of(lines.begin(), lines.end(), [&](auto& line) {
      const auto& jobs = line.variant->jobs;
      return jobs.size() == 1 && jobs[0].seed == lines[0].variant->jobs[0].seed;
    });
    if (same) return "seed " + std::to_string(lines[0].variant->jobs[0].seed);
    return "one seed";
  }
  return (fewest < most ? std::to_string(fewest) + " to " : "") + std::to_string(most) + " seeds";
}

}  // namespace

StandingJobs ChooseJobs(const PlottedVariant& variant,
                        const std::function<bool(const PlottedJob&)>& has_values) {
  int best = kWorstRank + 1;
  std::vector<const PlottedJob*> with_values;
  for (const PlottedJob& job : variant.jobs) {
    if (!has_values(job)) continue;
    with_values.push_back(&job);
    best = std::min(best, Rank(job));
  }
  StandingJobs standing;
  for (const PlottedJob* job : with_values) {
    if (Rank(*job) == best) standing.jobs.push_back(job);
  }
  if (!standing.jobs.empty()) standing.remark = kRemarks[best];
  return standing;
}

std::string SeedsLeftOut(const PlottedVariant& variant,
                         const std::vector<const PlottedJob*>& shown) {
  int failed = 0, diverged = 0, unfinished = 0, canceled = 0, early = 0, without = 0;
  for (const PlottedJob& job : variant.jobs) {
    if (std::find(shown.begin(), shown.end(), &job) != shown.end()) continue;
    if (job.state == "FAILED") {
      ++failed;
    } else if (job.state == "CANCELED") {
      ++canceled;
    } else if (job.state == "STOPPED_EARLY") {
      ++early;
    } else if (job.diverged) {
      ++diverged;
    } else if (job.state == "SUCCEEDED") {
      ++without;
    } else {
      ++unfinished;
    }
  }
  std::string why = CountOf(failed, "failed") + CountOf(diverged, "diverged") +
                    CountOf(unfinished, "not finished") + CountOf(canceled, "canceled") +
                    CountOf(early, "stopped early") + CountOf(without, "without a value");
  if (why.empty()) return "";
  why.resize(why.size() - 2);
  const auto seeds = variant.jobs.size();
  return variant.name + ": " + std::to_string(shown.size()) + " of " + std::to_string(seeds) +
         (seeds == 1 ? " seed (" : " seeds (") + why + ")";
}

SeedSummary SummarizeSeeds(const std::vector<double>& values, SeedSpread spread) {
  SeedSummary summary{static_cast<int>(values.size()), Mean(values), kNone, kNone, kNone};
  if (values.size() < 2) return summary;
  summary.std = *SampleStd(values);
  if (spread == SeedSpread::kRange) {
    summary.low = *std::min_element(values.begin(), values.end());
    summary.high = *std::max_element(values.begin(), values.end());
  } else if (spread == SeedSpread::kStd) {
    summary.low = summary.mean - summary.std;
    summary.high = summary.mean + summary.std;
  } else if (spread == SeedSpread::kInterval) {
    const auto interval = StudentT(values);
    summary.low = interval ? interval->low : summary.mean;
    summary.high = interval ? interval->high : summary.mean;
  }
  return summary;
}

std::string SpreadWords(SeedSpread spread, const std::string& shape) {
  switch (spread) {
    case SeedSpread::kRange:
      return shape + ": lowest to highest seed";
    case SeedSpread::kStd:
      return shape + ": mean ± standard deviation over seeds";
    case SeedSpread::kInterval:
      return shape + ": 95% interval of the mean (Student's t over seeds)";
    case SeedSpread::kNone:
      break;
  }
  return "";
}

Result<SeedLines> MakeSeedLines(const PlottedSweep& sweep,
                                const std::map<int64_t, PlaceValues>& values,
                                const SeedLineOptions& options) {
  SeedLines result;
  bool compared = false;
  const LineMaker maker(sweep, values, options);
  for (const PlottedVariant& variant : sweep.variants) {
    if (!options.variants.empty() && !options.variants.contains(&variant)) continue;
    compared = compared || !variant.baseline.empty();
    if (options.difference && variant.baseline.empty()) continue;
    std::string note;
    SeedLine line = maker.Make(variant, &note);
    if (!note.empty()) result.notes.push_back(note);
    if (!line.places.empty()) result.lines.push_back(std::move(line));
  }
  if (options.difference && !compared) {
    return FailedPrecondition("the sweep " + sweep.name +
                              " has no baseline to take differences to: name one with --baseline");
  }
  result.seeds = SeedsInWords(result.lines);
  return result;
}

std::string SeedsSubtitle(const SeedLines& seeds, const SeedLineOptions& options,
                          const std::string& shape) {
  std::string words = "Mean over " + seeds.seeds;
  const bool single = seeds.seeds.find("seeds") == std::string::npos;
  if (single)
    words = seeds.seeds == "one seed" ? "One seed a variant" : "Seed " + seeds.seeds.substr(5);
  if (options.difference) words += "; each seed minus the baseline's same seed";
  if (!single && options.spread != SeedSpread::kNone) {
    words += "; " + SpreadWords(options.spread, shape);
  }
  return words + ".";
}

}  // namespace gyre
