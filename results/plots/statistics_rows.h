#pragma once

// What was measured of attention (the statistics tables), as plots see it: arrays over the
// frequency pairs, a head and a layer each, and the frequencies that rotate them.

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "results/plots/plotted_sweep.h"

namespace gyre {

struct StatisticsTable {
  std::string table;   // frequency_norms, logit_shares, ...
  std::string column;  // a JSON array over pairs
  std::string where;   // a further condition on the table's columns; empty = none
};

using LayerHead = std::pair<int, int>;

/// Of one job, at one step.
struct JobStatistics {
  int64_t step = 0, tokens = 0;
  std::map<LayerHead, nlohmann::json> values;  // what the column held
};

/// FAILED_PRECONDITION: the database is older than the tables of statistics.
Status CheckStatisticsTables(const AskSql& ask);

/// Those that have any: at `options.step`, or at all.
Result<std::set<int64_t>> JobsWithStatistics(const StatisticsTable& table,
                                             const PlotOptions& options,
                                             const std::vector<int64_t>& jobs, const AskSql& ask);

/// By job, those that have any: at `options.step`, or at each job's last.
Result<std::map<int64_t, JobStatistics>> ReadStatistics(const StatisticsTable& table,
                                                        const PlotOptions& options,
                                                        const std::vector<int64_t>& jobs,
                                                        const AskSql& ask);

/// Why there are none: FAILED_PRECONDITION, with what the sweep has to ask for
/// (`collect`, an item of statistics.collect) or the steps that there are.
Status NoStatistics(const StatisticsTable& table, const PlotOptions& options,
                    const PlottedSweep& sweep, const std::string& collect, const AskSql& ask);

/// Angular frequencies by layer and pair, those in force after `tokens`.
Result<std::vector<std::vector<double>>> ReadFrequencies(int64_t job, int64_t tokens,
                                                         const AskSql& ask);

/// What stands at one place of each panel: the panels' variants, at most 12, and what is left out.
struct ShownVariant {
  const PlottedVariant* variant = nullptr;
  std::string title;                        // its name, and what is wrong with its jobs
  std::vector<int64_t> jobs;                // that stand for it
  std::vector<const JobStatistics*> seeds;  // theirs, once SetSeeds() has been called
};

/// The variants of whose jobs some are `present`, in the sweep's order; what is left out is said in
/// `notes`.
std::vector<ShownVariant> ShowVariants(const PlottedSweep& sweep, const std::set<int64_t>& present,
                                       std::vector<std::string>* notes);

/// `statistics` has all jobs of `shown`, and outlives it.
void SetSeeds(const std::map<int64_t, JobStatistics>& statistics, std::vector<ShownVariant>* shown);

/// "3 seeds, after step 147 (301k tokens)"; of a pretrained model "windows of text (8.2k
/// tokens)".
std::string SeedsAndStep(const std::vector<ShownVariant>& shown);

/// The numbers of a JSON array; NaN where it has none.
std::vector<double> Numbers(const nlohmann::json& array);

}  // namespace gyre
