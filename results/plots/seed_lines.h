#pragma once

// From the values of single seeds to what is drawn of a variant: which jobs count, their mean and
// spread, their differences to the baseline's job of the same seed, and words for what is left out.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "results/plots/plotted_sweep.h"

namespace gyre {

/// low and high are NaN below two values, and where `spread` is kNone.
struct SeedSummary {
  int n = 0;
  double mean = 0, std = 0, low = 0, high = 0;
};

/// Of values that are finite; at least one.
SeedSummary SummarizeSeeds(const std::vector<double>& values, SeedSpread spread);

/// "band: lowest to highest seed"; `shape` is "band" or "bar". Empty for kNone.
std::string SpreadWords(SeedSpread spread, const std::string& shape);

/// Of one job: the value at each place of the horizontal axis. NaN where it was not finite.
using PlaceValues = std::map<double, double>;

/// Jobs that finished and did not diverge stand for their variant. Of a variant that has none, the
/// ones that still run do, else those that diverged, else those that ended early; `remark` says so:
/// "unfinished", "diverged", "ended early".
struct StandingJobs {
  std::vector<const PlottedJob*> jobs;
  std::string remark;
};

/// Among the jobs of which `has_values` is true.
StandingJobs ChooseJobs(const PlottedVariant& variant,
                        const std::function<bool(const PlottedJob&)>& has_values);

/// "NoPE: 2 of 3 seeds (1 failed)"; empty if all are in.
std::string SeedsLeftOut(const PlottedVariant& variant,
                         const std::vector<const PlottedJob*>& shown);

struct SeedLine {
  struct Place {
    double x = 0;
    SeedSummary summary;
  };
  const PlottedVariant* variant = nullptr;
  std::vector<Place> places;                    // in order, those with a finite value
  std::vector<std::pair<double, double>> dots;  // single seeds: x, value
  int seeds = 0;                                // that are in it
  std::string remark;                           // as in StandingJobs
};

struct SeedLineOptions {
  std::string metric;
  SeedSpread spread = SeedSpread::kRange;
  bool difference = false;  // to the baseline, seed by seed; of perplexities, their logarithms
  bool ends_only = false;   // only jobs that finished and did not diverge have a say
  std::set<const PlottedVariant*> variants = {};  // only these; empty = all
};

struct SeedLines {
  std::vector<SeedLine> lines;     // a variant each, where there is something to draw
  std::vector<std::string> notes;  // "NoPE: 2 of 3 seeds (1 failed)"
  std::string seeds;               // "3 seeds", "1 to 3 seeds", "seed 0"
};

/// FAILED_PRECONDITION: differences are asked for and no variant has a baseline.
Result<SeedLines> MakeSeedLines(const PlottedSweep& sweep,
                                const std::map<int64_t, PlaceValues>& values,
                                const SeedLineOptions& options);

/// "Mean over 3 seeds; band: lowest to highest seed." `shape` is "band" or "bar".
std::string SeedsSubtitle(const SeedLines& seeds, const SeedLineOptions& options,
                          const std::string& shape);

}  // namespace gyre
