#include <algorithm>

#include "results/numbers.h"
#include "results/plots/kinds.h"
#include "results/plots/line_plot.h"
#include "results/plots/plotted_points.h"

namespace gyre {
namespace {

// More than a picture can show of one line.
constexpr size_t kMostPlaces = 400;

struct Curves {
  std::map<int64_t, PlaceValues> values;  // by job, by tokens
  std::map<double, int64_t> steps;        // of tokens
  size_t every = 1;                       // of the points, this one is kept
};

Curves ThinOut(const std::map<int64_t, std::vector<PlottedPoint>>& points) {
  Curves curves;
  size_t longest = 0;
  for (const auto& [job, curve] : points) longest = std::max(longest, curve.size());
  curves.every = (longest + kMostPlaces - 1) / kMostPlaces;
  for (const auto& [job, curve] : points) {
    for (size_t i = 0; i < curve.size(); ++i) {
      if (i % curves.every != 0 && i + 1 != curve.size()) continue;
      const auto tokens = static_cast<double>(curve[i].tokens);
      curves.values[job][tokens] = curve[i].value;
      curves.steps[tokens] = curve[i].step;
    }
  }
  return curves;
}

/// At round numbers: 200k, 400k; 0.5M, 1M, 1.5M.
std::vector<std::pair<double, std::string>> TokenTics(double tokens) {
  constexpr double kMost = 7;
  double step = 1;
  for (double power = 1; tokens / step > kMost; power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      step = factor * power;
      if (tokens / step <= kMost) break;
    }
  }
  std::vector<std::pair<double, std::string>> tics;
  for (int i = 0; i * step <= tokens; ++i) tics.emplace_back(i * step, FormatCount(i * step));
  return tics;
}

QueryTable Rows(const PlottedSweep& sweep, const std::string& metric, const SeedLines& seeds,
                const Curves& curves) {
  QueryTable table{{"sweep", "variant", "metric", "step", "tokens", "seeds", "mean", "std", "low",
                    "high", "remark"},
                   {}};
  for (const SeedLine& line : seeds.lines) {
    for (const SeedLine::Place& place : line.places) {
      const SeedSummary& at = place.summary;
      table.rows.push_back({sweep.name, line.variant->name, metric, curves.steps.at(place.x),
                            static_cast<int64_t>(place.x), int64_t{at.n}, at.mean, RealCell(at.std),
                            RealCell(at.low), RealCell(at.high), line.remark});
    }
  }
  return table;
}

}  // namespace

Result<Plot> MakeCurvePlot(const PlotOptions& options, const PlottedSweep& sweep,
                           const AskSql& ask) {
  GYRE_ASSIGN_OR_RETURN(const std::string metric, PlottedMetric(options, sweep, "loss_sample"));
  GYRE_ASSIGN_OR_RETURN(const auto points, ReadPoints(SourceJobs(sweep), metric, ask));
  const Curves curves = ThinOut(points);
  const SeedLineOptions line_options{metric, options.spread.value_or(SeedSpread::kRange),
                                     options.difference};
  GYRE_ASSIGN_OR_RETURN(const SeedLines seeds, MakeSeedLines(sweep, curves.values, line_options));
  if (seeds.lines.empty()) return NothingReported(sweep, metric, ask);

  LinePlot lines;
  lines.words.title = sweep.name + ": " + metric + " by tokens" +
                      (options.difference ? ", difference to the baseline" : "");
  lines.words.subtitle = SeedsSubtitle(seeds, line_options, "band");
  lines.words.footnotes = FewNotes(seeds.notes, 4);
  if (curves.every > 1) {
    lines.words.footnotes.push_back("One of " + std::to_string(curves.every) +
                                    " reported points is shown.");
  }
  lines.x_label = "tokens trained";
  lines.y_label = options.difference ? sweep.DifferenceLabel(metric) : sweep.MetricLabel(metric);
  lines.x_tics = TokenTics(curves.steps.rbegin()->first);
  lines.x_range = {0, curves.steps.rbegin()->first};
  lines.zero_line = options.difference;
  lines.lines = NameLines(seeds, metric, &lines.words);
  lines.y_range = RangeOfEnds(lines.lines, &lines.words);

  Plot plot;
  plot.rows = Rows(sweep, metric, seeds, curves);
  plot.notes = seeds.notes;
  DrawLines(lines, &plot);
  return plot;
}

}  // namespace gyre
