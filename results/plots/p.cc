// Loss against p, the share of the frequencies kept.

#include <algorithm>
#include <cmath>

#include "results/numbers.h"
#include "results/plots/end_values.h"
#include "results/plots/gnuplot_text.h"
#include "results/plots/kinds.h"
#include "results/plots/line_plot.h"
#include "results/plots/p_series.h"
#include "results/plots/plotted_points.h"

namespace gyre {
namespace {

constexpr size_t kMostSeries = 12;

const SeedLine* LineOf(const SeedLines& seeds, const PlottedVariant* variant) {
  for (const SeedLine& line : seeds.lines) {
    if (line.variant == variant) return &line;
  }
  return nullptr;
}

/// Whether differences of the series' other variants are to this one.
bool IsReference(const PSeries& series, const PlottedVariant* variant) {
  return variant->baseline.empty() &&
         std::any_of(series.variants.begin(), series.variants.end(),
                     [&](auto& v) { return v.variant->baseline == variant->name; });
}

PlottedLine MakeLine(const PSeries& series, const SeedLines& seeds, bool difference) {
  PlottedLine line;
  line.name = series.name;
  for (const PVariant& v : series.variants) {
    if (difference && IsReference(series, v.variant)) {
      line.places.push_back({v.p, 0, NAN, NAN});
      continue;
    }
    const SeedLine* values = LineOf(seeds, v.variant);
    if (values == nullptr) continue;
    const SeedSummary& at = values->places.front().summary;
    line.places.push_back({v.p, at.mean, at.low, at.high});
    for (const auto& [place, value] : values->dots) line.dots.emplace_back(v.p, value);
  }
  return line;
}

QueryTable Rows(const PlottedSweep& sweep, const std::string& metric,
                const std::vector<PSeries>& series, const SeedLines& seeds) {
  QueryTable table{{"sweep", "series", "variant", "metric", "theta", "context", "p", "p_star",
                    "p_over_p_star", "seeds", "mean", "std", "low", "high"},
                   {}};
  for (const PSeries& one : series) {
    for (const PVariant& v : one.variants) {
      const SeedLine* values = LineOf(seeds, v.variant);
      if (values == nullptr) continue;
      const SeedSummary& at = values->places.front().summary;
      table.rows.push_back({sweep.name, one.name, v.variant->name, metric, one.theta,
                            int64_t{one.context}, v.p, RealCell(one.PStar()),
                            RealCell(v.p / one.PStar()), int64_t{at.n}, at.mean, RealCell(at.std),
                            RealCell(at.low), RealCell(at.high)});
    }
  }
  return table;
}

/// Where p* is: one mark and a second axis where all series have the same, else a mark a series,
/// and its value beside the series' name. Series that are not plain have none.
void MarkPStar(const std::vector<PSeries>& series, LinePlot* lines) {
  const double first = series.front().PStar();
  const bool same = std::all_of(series.begin(), series.end(),
                                [&](auto& s) { return std::abs(s.PStar() - first) < 1e-9; });
  for (size_t i = 0; i < series.size(); ++i) {
    const double star = series[i].PStar();
    if (star > 0 && star <= 1 && (i == 0 || !same)) {
      lines->marks.push_back({star, "", same ? -2 : lines->lines[i].style});
    }
    if (!same && std::isfinite(star)) {
      lines->lines[i].name += " (p* = " + FormatFixed(star, 2) + ")";
    }
  }
  if (std::none_of(series.begin(), series.end(),
                   [](auto& s) { return std::isfinite(s.PStar()); })) {
    return;
  }
  std::string words =
      "Dashed: p* = ln(L/2π) / ln θ, the share of the pairs that complete a turn within the "
      "training context L";
  if (same && first > 0) {
    lines->x2_unit = first;
    lines->x2_label = "p / p*    (p* = " + FormatFixed(first, 3) + ")";
    words += " = " + std::to_string(series.front().context) +
             " (θ = " + FormatCount(series.front().theta) + ")";
  }
  lines->words.footnotes.push_back(words + ".");
}

Status NoSeries(const PlottedSweep& sweep) {
  return FailedPrecondition("the sweep " + sweep.name +
                            " has no variants that differ in position.p alone; a sweep that has: "
                            "grid: {position.p: [0, 0.25, 0.5, 0.75, 1]}");
}

}  // namespace

Result<Plot> MakePPlot(const PlotOptions& options, const PlottedSweep& sweep, const AskSql& ask) {
  GYRE_ASSIGN_OR_RETURN(const std::string metric, PlottedMetric(options, sweep, "loss"));
  std::vector<std::string> left_out;
  std::vector<PSeries> series = FindPSeries(sweep, &left_out);
  if (series.empty()) return NoSeries(sweep);
  const auto place = [](const PlottedVariant&, std::string_view rest) {
    return rest.empty() ? std::optional<double>(0) : std::nullopt;
  };
  GYRE_ASSIGN_OR_RETURN(const auto values, ReadEndValues(sweep, metric, place, ask));
  const SeedLineOptions line_options{metric, options.spread.value_or(SeedSpread::kInterval),
                                     options.difference, /*ends_only=*/true, VariantsOf(series)};
  GYRE_ASSIGN_OR_RETURN(const SeedLines seeds, MakeSeedLines(sweep, values, line_options));
  if (seeds.lines.empty()) return NothingFinished(sweep, metric, ask);
  if (series.size() > kMostSeries) {
    return FailedPrecondition("the sweep " + sweep.name + " has " + std::to_string(series.size()) +
                              " series over p, too many for one plot: choose with --variant, or "
                              "see: gyre plot " +
                              sweep.name + " grid");
  }

  LinePlot lines;
  lines.words.title = sweep.name + ": " + metric + " by p" +
                      (options.difference ? ", difference to the baseline" : "");
  lines.words.subtitle =
      SeedsSubtitle(seeds, line_options, "bar") +
      (series.size() <= 3 && seeds.seeds.ends_with("seeds") ? " Circles: single seeds." : "") +
      " At the end of training.";
  lines.words.footnotes = FewNotes(seeds.notes, 4);
  if (!left_out.empty()) {
    lines.words.footnotes.push_back("Not a part of any series over p: " + ListNames(left_out) +
                                    ".");
  }
  lines.x_label = "p (share of the frequencies kept)";
  lines.y_label = options.difference ? sweep.DifferenceLabel(metric) : sweep.MetricLabel(metric);
  lines.zero_line = options.difference;
  lines.bars = true;
  lines.x_range = {-0.03, 1.03};
  int style = 0;
  std::vector<PSeries> drawn;
  for (const PSeries& one : series) {
    PlottedLine line = MakeLine(one, seeds, options.difference);
    if (line.places.empty()) continue;
    line.style = style++;
    lines.lines.push_back(std::move(line));
    drawn.push_back(one);
  }
  if (drawn.empty()) return NothingFinished(sweep, metric, ask);
  MarkPStar(drawn, &lines);
  LimitRangeToSeeds(&lines);

  Plot plot;
  plot.rows = Rows(sweep, metric, drawn, seeds);
  plot.notes = seeds.notes;
  DrawLines(lines, &plot);
  return plot;
}

}  // namespace gyre
