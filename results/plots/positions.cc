// Loss by place in the window; of a task, by how far away its answers are said.

#include <set>

#include "results/plots/end_values.h"
#include "results/plots/kinds.h"
#include "results/plots/line_plot.h"
#include "results/plots/plotted_points.h"

namespace gyre {
namespace {

struct Bucket {
  int begin = 0, end = 0;
};

/// "/64-256"; buckets of documents' lengths are others.
std::optional<Bucket> ParseBucket(std::string_view rest) {
  if (!rest.starts_with("/")) return std::nullopt;
  rest.remove_prefix(1);
  const size_t dash = rest.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto begin = WholeNumber(rest.substr(0, dash)), end = WholeNumber(rest.substr(dash + 1));
  if (!begin || !end) return std::nullopt;
  return Bucket{*begin, *end};
}

std::string BucketLabel(int begin, const std::set<int>& ends) {
  if (ends.size() != 1) return std::to_string(begin) + "…";  // variants with several contexts
  if (*ends.begin() == begin + 1) return std::to_string(begin);
  return std::to_string(begin) + "–" + std::to_string(*ends.begin() - 1);
}

/// Whether the metric is of one of evaluate.tasks.
bool IsOfTask(const PlottedSweep& sweep, const std::string& metric) {
  const std::string set = metric.substr(0, metric.find('/'));
  for (const PlottedVariant& variant : sweep.variants) {
    const auto evaluate = variant.config.find("evaluate");
    if (evaluate == variant.config.end() || !evaluate->contains("tasks")) continue;
    for (const auto& task : (*evaluate)["tasks"]) {
      if (task.value("name", "") == set) return true;
    }
  }
  return false;
}

QueryTable Rows(const PlottedSweep& sweep, const std::string& metric, const SeedLines& seeds,
                const std::vector<int>& begins) {
  QueryTable table{
      {"sweep", "variant", "metric", "position", "seeds", "mean", "std", "low", "high"}, {}};
  for (const SeedLine& line : seeds.lines) {
    for (const SeedLine::Place& place : line.places) {
      const SeedSummary& at = place.summary;
      table.rows.push_back({sweep.name, line.variant->name, metric,
                            int64_t{begins[static_cast<size_t>(place.x)]}, int64_t{at.n}, at.mean,
                            RealCell(at.std), RealCell(at.low), RealCell(at.high)});
    }
  }
  return table;
}

/// Buckets stand side by side, whatever their widths: place = number of the bucket.
void NumberBuckets(const std::vector<int>& begins, std::map<int64_t, PlaceValues>* values) {
  for (auto& [job, places] : *values) {
    PlaceValues numbered;
    for (size_t i = 0; i < begins.size(); ++i) {
      const auto found = places.find(begins[i]);
      if (found != places.end()) numbered[static_cast<double>(i)] = found->second;
    }
    places = std::move(numbered);
  }
}

}  // namespace

Result<Plot> MakePositionsPlot(const PlotOptions& options, const PlottedSweep& sweep,
                               const AskSql& ask) {
  GYRE_ASSIGN_OR_RETURN(const std::string metric, PlottedMetric(options, sweep, "loss"));
  std::map<int, std::set<int>> buckets;
  const auto place = [&](const PlottedVariant&, std::string_view rest) -> std::optional<double> {
    const auto bucket = ParseBucket(rest);
    if (!bucket) return std::nullopt;
    buckets[bucket->begin].insert(bucket->end);
    return bucket->begin;
  };
  GYRE_ASSIGN_OR_RETURN(auto values, ReadEndValues(sweep, metric, place, ask));
  std::vector<int> begins;
  for (const auto& [begin, ends] : buckets) begins.push_back(begin);
  NumberBuckets(begins, &values);
  const SeedLineOptions line_options{metric, options.spread.value_or(SeedSpread::kRange),
                                     options.difference, /*ends_only=*/true};
  GYRE_ASSIGN_OR_RETURN(const SeedLines seeds, MakeSeedLines(sweep, values, line_options));
  if (seeds.lines.empty()) {
    return FailedPrecondition("no finished job of " + sweep.name + " has '" + metric +
                              "' by position: it comes at the end of jobs whose sweep has "
                              "evaluate.positions, or by distance of evaluate.tasks");
  }

  LinePlot lines;
  const bool task = IsOfTask(sweep, metric);
  lines.words.title = sweep.name + ": " + metric +
                      (task ? " by distance of the answer" : " by position in the window") +
                      (options.difference ? ", difference to the baseline" : "");
  lines.words.subtitle = SeedsSubtitle(seeds, line_options, "bar") + " At the end of training.";
  lines.words.footnotes = FewNotes(seeds.notes, 4);
  lines.x_label = task ? "tokens since what is to be answered was said"
                       : "position of the predicting token (tokens from the window's start)";
  lines.y_label = options.difference ? sweep.DifferenceLabel(metric) : sweep.MetricLabel(metric);
  lines.zero_line = options.difference;
  lines.bars = true;
  for (size_t i = 0; i < begins.size(); ++i) {
    lines.x_tics.emplace_back(static_cast<double>(i), BucketLabel(begins[i], buckets[begins[i]]));
  }
  lines.x_range = {-0.4, static_cast<double>(begins.size()) - 0.6};
  lines.lines = NameLines(seeds, metric, &lines.words);
  LimitRangeToSeeds(&lines);

  Plot plot;
  plot.rows = Rows(sweep, metric, seeds, begins);
  plot.notes = seeds.notes;
  DrawLines(lines, &plot);
  return plot;
}

}  // namespace gyre
