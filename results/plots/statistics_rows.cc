#include "results/plots/statistics_rows.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <set>

#include "results/numbers.h"
#include "results/plots/heat_map.h"
#include "results/plots/plotted_points.h"
#include "results/plots/seed_lines.h"

namespace gyre {
namespace {

// Of rows with some kilobytes each, as many jobs as an AskSql answers.
constexpr size_t kJobsAtOnce = 40;

std::string Condition(const StatisticsTable& table, const PlotOptions& options) {
  std::string condition = table.where.empty() ? "" : " AND " + table.where;
  if (options.layer) condition += " AND layer = " + std::to_string(*options.layer);
  if (options.step) return condition + " AND step = " + std::to_string(*options.step);
  return condition + " AND step = (SELECT max(step) FROM " + table.table +
         " last WHERE last.job_id IS n.job_id AND last.model_id IS n.model_id)";
}

// Rows of jobs, and of models, which have minus their ids; each by the index that there is.
std::string OwnedBy(const std::vector<int64_t>& jobs) {
  std::vector<int64_t> of_jobs, of_models;
  for (const int64_t job : jobs) {
    if (job >= 0) {
      of_jobs.push_back(job);
    } else {
      of_models.push_back(-job);
    }
  }
  if (of_models.empty()) return "job_id IN (" + SqlList(of_jobs) + ")";
  return "(job_id IN (" + SqlList(of_jobs) + ") OR model_id IN (" + SqlList(of_models) + "))";
}
constexpr char kOwner[] = "coalesce(job_id, -model_id)";

}  // namespace

Status CheckStatisticsTables(const AskSql& ask) {
  constexpr int64_t kFirstVersion = 3;
  GYRE_ASSIGN_OR_RETURN(const QueryTable version, ask("PRAGMA user_version"));
  if (!version.rows.empty() && CellInt(version.rows[0][0]) >= kFirstVersion) return OkStatus();
  return FailedPrecondition(
      "the database is older than statistics of attention; a coordinator that opens it brings it "
      "up to date, and sweeps that run then have them");
}

Result<std::set<int64_t>> JobsWithStatistics(const StatisticsTable& table,
                                             const PlotOptions& options,
                                             const std::vector<int64_t>& jobs, const AskSql& ask) {
  GYRE_RETURN_IF_ERROR(CheckStatisticsTables(ask));
  GYRE_ASSIGN_OR_RETURN(const QueryTable rows,
                        ask(std::string("SELECT DISTINCT ") + kOwner + " FROM " + table.table +
                            " n WHERE " + OwnedBy(jobs) + Condition(table, options)));
  std::set<int64_t> present;
  for (const auto& row : rows.rows) present.insert(CellInt(row[0]));
  return present;
}

Result<std::map<int64_t, JobStatistics>> ReadStatistics(const StatisticsTable& table,
                                                        const PlotOptions& options,
                                                        const std::vector<int64_t>& jobs,
                                                        const AskSql& ask) {
  GYRE_RETURN_IF_ERROR(CheckStatisticsTables(ask));
  std::map<int64_t, JobStatistics> statistics;
  for (size_t begin = 0; begin < jobs.size(); begin += kJobsAtOnce) {
    const auto first = jobs.begin() + static_cast<ptrdiff_t>(begin);
    const auto count = static_cast<ptrdiff_t>(std::min(kJobsAtOnce, jobs.size() - begin));
    GYRE_ASSIGN_OR_RETURN(const QueryTable rows,
                          ask(std::string("SELECT ") + kOwner + ", step, tokens, layer, head, " +
                              table.column + " FROM " + table.table + " n WHERE " +
                              OwnedBy({first, first + count}) + Condition(table, options)));
    for (const auto& row : rows.rows) {
      JobStatistics& job = statistics[CellInt(row[0])];
      job.step = CellInt(row[1]);
      job.tokens = CellInt(row[2]);
      const LayerHead head(static_cast<int>(CellInt(row[3])), static_cast<int>(CellInt(row[4])));
      auto value = nlohmann::json::parse(CellText(row[5]), nullptr, /*allow_exceptions=*/false);
      if (value.is_array()) job.values[head] = std::move(value);
    }
  }
  return statistics;
}

Status NoStatistics(const StatisticsTable& table, const PlotOptions& options,
                    const PlottedSweep& sweep, const std::string& collect, const AskSql& ask) {
  GYRE_ASSIGN_OR_RETURN(
      const QueryTable rows,
      ask("SELECT DISTINCT step, layer FROM " + table.table + " WHERE " +
          OwnedBy(SourceJobs(sweep)) + (table.where.empty() ? "" : " AND " + table.where)));
  std::set<int64_t> steps, layers;
  for (const auto& row : rows.rows) {
    steps.insert(CellInt(row[0]));
    layers.insert(CellInt(row[1]));
  }
  if (steps.empty() && sweep.pretrained) {
    return FailedPrecondition("nothing of " + collect + " is there for " + sweep.name +
                              ": analyse it again with --collect " + collect);
  }
  if (steps.empty()) {
    return FailedPrecondition("no job of " + sweep.name + " has reported " + collect +
                              ": they come while jobs train whose sweep has " + collect +
                              " in statistics.collect");
  }
  if (options.layer && !layers.contains(*options.layer)) {
    return NotFound("there is no layer " + std::to_string(*options.layer) + "; there are 0 to " +
                    std::to_string(*layers.rbegin()));
  }
  if (!options.step || steps.contains(*options.step)) {
    return FailedPrecondition("none of the values is finite: nothing to draw");
  }
  return NotFound("there are no statistics of step " + std::to_string(*options.step) +
                  "; there are those of " + SqlList({steps.begin(), steps.end()}));
}

Result<std::vector<std::vector<double>>> ReadFrequencies(int64_t job, int64_t tokens,
                                                         const AskSql& ask) {
  GYRE_ASSIGN_OR_RETURN(const QueryTable table,
                        ask(std::string("SELECT rotation FROM ") + (job < 0 ? "models" : "jobs") +
                            " WHERE id = " + std::to_string(std::abs(job))));
  std::vector<std::vector<double>> frequencies;
  if (table.rows.empty()) return frequencies;
  const auto layers = nlohmann::json::parse(CellText(table.rows[0][0]), nullptr, false);
  if (!layers.is_array()) return frequencies;
  for (const auto& layer : layers) {
    nlohmann::json in_force = layer.value("frequencies", nlohmann::json::array());
    for (const auto& change : layer.value("switches", nlohmann::json::array())) {
      if (change.value("at", std::numeric_limits<int64_t>::max()) <= tokens) {
        in_force = change.value("frequencies", nlohmann::json::array());
      }
    }
    frequencies.push_back(Numbers(in_force));
  }
  return frequencies;
}

std::vector<ShownVariant> ShowVariants(const PlottedSweep& sweep, const std::set<int64_t>& present,
                                       std::vector<std::string>* notes) {
  std::vector<ShownVariant> shown;
  std::vector<std::string> without, beyond;
  for (const PlottedVariant& variant : sweep.variants) {
    const StandingJobs standing =
        ChooseJobs(variant, [&](const PlottedJob& job) { return present.contains(job.source); });
    if (standing.jobs.empty()) {
      without.push_back(variant.name);
      continue;
    }
    if (shown.size() == kMostPanels) {
      beyond.push_back(variant.name);
      continue;
    }
    ShownVariant one{&variant, variant.name, {}, {}};
    if (!standing.remark.empty()) one.title += " (" + standing.remark + ")";
    for (const PlottedJob* job : standing.jobs) one.jobs.push_back(job->source);
    const std::string left_out = SeedsLeftOut(variant, standing.jobs);
    if (!left_out.empty()) notes->push_back(left_out);
    shown.push_back(std::move(one));
  }
  if (!without.empty()) notes->push_back("Without statistics: " + ListNames(without) + ".");
  if (!beyond.empty()) {
    notes->push_back(std::to_string(kMostPanels) + " of " +
                     std::to_string(kMostPanels + beyond.size()) +
                     " variants are shown; choose others with --variant.");
  }
  return shown;
}

void SetSeeds(const std::map<int64_t, JobStatistics>& statistics,
              std::vector<ShownVariant>* shown) {
  for (ShownVariant& one : *shown) {
    for (const int64_t job : one.jobs) one.seeds.push_back(&statistics.at(job));
  }
}

std::string SeedsAndStep(const std::vector<ShownVariant>& shown) {
  if (!shown.empty() && shown.front().variant->pretrained) {
    std::set<int64_t> tokens;
    for (const ShownVariant& one : shown) tokens.insert(one.seeds.front()->tokens);
    if (tokens.size() > 1) return "windows of text";
    return "windows of text (" + FormatCount(static_cast<double>(*tokens.begin())) + " tokens)";
  }
  size_t fewest = SIZE_MAX, most = 0;
  std::set<std::pair<int64_t, int64_t>> steps;
  for (const ShownVariant& one : shown) {
    fewest = std::min(fewest, one.seeds.size());
    most = std::max(most, one.seeds.size());
    for (const JobStatistics* seed : one.seeds) steps.insert({seed->step, seed->tokens});
  }
  std::string words = fewest < most ? std::to_string(fewest) + " to " : "";
  words += most == 1 && fewest == most ? "one seed" : std::to_string(most) + " seeds";
  if (steps.size() != 1) return words + ", after each job's last step";
  return words + ", after step " + std::to_string(steps.begin()->first) + " (" +
         FormatCount(static_cast<double>(steps.begin()->second)) + " tokens)";
}

std::vector<double> Numbers(const nlohmann::json& array) {
  std::vector<double> numbers;
  for (const auto& value : array) {
    numbers.push_back(value.is_number() ? value.get<double>()
                                        : std::numeric_limits<double>::quiet_NaN());
  }
  return numbers;
}

}  // namespace gyre
