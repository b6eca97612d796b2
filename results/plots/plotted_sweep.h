#pragma once

// A sweep as plots see it: its variants and jobs, and their points, asked for in SQL. A pretrained
// model that was analysed is one, too: its variants are the texts that it was analysed on, each
// with one job, which has statistics and no points.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "results/plots/plot.h"

namespace gyre {

struct PlottedJob {
  uint64_t seed = 0;
  /// The job whose points these are: itself, or the one that it reuses. A pretrained model's stands
  /// for one: minus its id.
  int64_t source = 0;
  std::string state;
  bool diverged = false;
  int64_t tokens_budget = 0;

  bool counts() const { return state == "SUCCEEDED" && !diverged; }  // in means
};

struct PlottedVariant {
  std::string name;
  std::string baseline;  // the variant it is compared with; empty: none, or it is one
  nlohmann::ordered_json config;
  std::string position_type;
  std::optional<double> theta, p;
  int context = 0;
  bool pretrained = false;
  std::vector<PlottedJob> jobs;
};

struct PlottedSweep {
  std::string name;
  bool pretrained = false;                   // a model that was analysed
  std::vector<std::string> validation_sets;  // of the first variant
  std::string loss_unit;                     // "nats per byte" where every token is one
  std::vector<PlottedVariant> variants;      // those asked for, in the sweep's order
  std::vector<PlottedVariant> baselines;     // of those, when they were not asked for themselves

  /// Among variants and baselines; null = none.
  const PlottedVariant* Find(const std::string& variant) const;
  /// "loss (nats per byte)".
  std::string MetricLabel(const std::string& metric) const;
  /// "difference (nats per byte)".
  std::string DifferenceLabel(const std::string& metric) const;
};

/// NOT_FOUND: no such sweep, variant, baseline or seed.
Result<PlottedSweep> ReadPlottedSweep(const PlotOptions& options, const AskSql& ask);

/// The first validation set and `quantity`, where no metric is asked for.
Result<std::string> PlottedMetric(const PlotOptions& options, const PlottedSweep& sweep,
                                  const std::string& quantity);

/// The jobs of all variants and baselines.
std::vector<int64_t> SourceJobs(const PlottedSweep& sweep);

/// "a, b, c and 7 more".
std::string ListNames(const std::vector<std::string>& names);

}  // namespace gyre
