// The surface over theta and p.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "results/comparison.h"
#include "results/numbers.h"
#include "results/plots/end_values.h"
#include "results/plots/gnuplot_text.h"
#include "results/plots/heat_map.h"
#include "results/plots/kinds.h"
#include "results/plots/line_plot.h"
#include "results/plots/p_series.h"
#include "results/plots/plotted_points.h"

namespace gyre {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Series of one name but for theta are the rows of one panel.
std::string WithoutTheta(const std::string& name) {
  std::string rest;
  size_t begin = 0;
  while (begin <= name.size()) {
    const size_t end = std::min(name.find(' ', begin), name.size());
    const std::string word = name.substr(begin, end - begin);
    if (!word.starts_with("theta=")) rest += (rest.empty() ? "" : " ") + word;
    begin = end + 1;
  }
  return rest;
}

struct Surface {
  std::map<double, const PSeries*> by_theta;
  std::vector<double> thetas, ps;  // thetas from the largest: the top row
};

std::map<std::string, Surface> Surfaces(const std::vector<PSeries>& series) {
  std::map<std::string, Surface> surfaces;
  std::map<std::string, std::set<double>> ps;
  for (const PSeries& one : series) {
    const std::string name = WithoutTheta(one.name);
    surfaces[name].by_theta[one.theta] = &one;
    for (const PVariant& v : one.variants) ps[name].insert(v.p);
  }
  for (auto& [name, surface] : surfaces) {
    for (const auto& [theta, one] : surface.by_theta) surface.thetas.push_back(theta);
    std::reverse(surface.thetas.begin(), surface.thetas.end());
    surface.ps.assign(ps[name].begin(), ps[name].end());
  }
  return surfaces;
}

double ValueOf(const SeedLines& seeds, const PSeries& series, double p, const SeedLine** line) {
  for (const PVariant& v : series.variants) {
    if (v.p != p) continue;
    for (const SeedLine& candidate : seeds.lines) {
      if (candidate.variant != v.variant) continue;
      *line = &candidate;
      return candidate.places.front().summary.mean;
    }
  }
  return kNone;
}

class GridMaker {
 public:
  GridMaker(const PlottedSweep& sweep, std::string metric, const SeedLines& seeds, QueryTable* rows)
      : sweep_(sweep), metric_(std::move(metric)), seeds_(seeds), rows_(rows) {}

  HeatMapPanel Panel(const std::string& name, const Surface& surface) const {
    HeatMapPanel panel;
    panel.title = name;
    panel.x_label = "p (share of the frequencies kept)";
    panel.y_label = "θ (base wavelength)";
    for (const double p : surface.ps)
      panel.columns.push_back(GnuplotNumber(std::round(p * 1000) / 1000));
    double best = INFINITY;
    for (const double theta : surface.thetas) {
      const PSeries& series = *surface.by_theta.at(theta);
      const auto row = static_cast<int>(panel.rows.size());
      panel.rows.push_back(FormatCount(theta));
      auto& cells = panel.cells.emplace_back();
      for (const double p : surface.ps) {
        const double value = Cell(series, name, p);
        const double rank = LowerIsBetter(metric_) ? value : -value;
        if (rank < best) {
          best = rank;
          panel.outlined = {row, static_cast<int>(cells.size())};
        }
        cells.push_back(value);
      }
      panel.ticked.push_back({row, Place(surface.ps, series.PStar())});
    }
    return panel;
  }

 private:
  double Cell(const PSeries& series, const std::string& name, double p) const {
    const SeedLine* line = nullptr;
    const double value = ValueOf(seeds_, series, p, &line);
    if (line == nullptr) return value;
    const SeedSummary& at = line->places.front().summary;
    rows_->rows.push_back({sweep_.name, name, line->variant->name, metric_, series.theta, p,
                           RealCell(series.PStar()), int64_t{at.n}, at.mean, RealCell(at.std)});
    return value;
  }

  /// Where a value of p would stand among the columns; NaN beyond them.
  static double Place(const std::vector<double>& ps, double p) {
    for (size_t i = 0; i + 1 < ps.size(); ++i) {
      if (p < ps[i] || p > ps[i + 1]) continue;
      return static_cast<double>(i) + (p - ps[i]) / (ps[i + 1] - ps[i]);
    }
    return kNone;
  }

  const PlottedSweep& sweep_;
  const std::string metric_;
  const SeedLines& seeds_;
  QueryTable* const rows_;
};

}  // namespace

Result<Plot> MakeGridPlot(const PlotOptions& options, const PlottedSweep& sweep,
                          const AskSql& ask) {
  GYRE_ASSIGN_OR_RETURN(const std::string metric, PlottedMetric(options, sweep, "loss"));
  std::vector<std::string> left_out;
  const std::vector<PSeries> series = FindPSeries(sweep, &left_out);
  const auto surfaces = Surfaces(series);
  if (series.size() == surfaces.size()) {
    return FailedPrecondition("the sweep " + sweep.name +
                              " has no grid over theta and p; a sweep that has: grid: "
                              "{position.theta: [1e3, 1e4, 1e5], position.p: [0.25, 0.5, 1]}");
  }
  if (surfaces.size() > kMostPanels) {
    return FailedPrecondition("the sweep " + sweep.name + " has " +
                              std::to_string(surfaces.size()) +
                              " surfaces, too many for one plot: choose with --variant");
  }
  const auto place = [](const PlottedVariant&, std::string_view rest) {
    return rest.empty() ? std::optional<double>(0) : std::nullopt;
  };
  GYRE_ASSIGN_OR_RETURN(const auto values, ReadEndValues(sweep, metric, place, ask));
  const SeedLineOptions line_options{metric, SeedSpread::kNone, options.difference,
                                     /*ends_only=*/true, VariantsOf(series)};
  GYRE_ASSIGN_OR_RETURN(const SeedLines seeds, MakeSeedLines(sweep, values, line_options));
  if (seeds.lines.empty()) return NothingFinished(sweep, metric, ask);

  Plot plot;
  plot.rows.columns = {"sweep", "series", "variant", "metric", "theta",
                       "p",     "p_star", "seeds",   "mean",   "std"};
  HeatMap map;
  const GridMaker maker(sweep, metric, seeds, &plot.rows);
  for (const auto& [name, surface] : surfaces) map.panels.push_back(maker.Panel(name, surface));
  map.numbers = true;
  map.scale =
      ScaleOf(map.panels, /*from_zero=*/false,
              options.difference ? sweep.DifferenceLabel(metric) : sweep.MetricLabel(metric));
  map.words.title = sweep.name + ": " + metric + " by θ and p" +
                    (options.difference ? ", difference to the baseline" : "");
  map.words.subtitle = SeedsSubtitle(seeds, line_options, "") +
                       " At the end of training. Framed: the best. White line: p* = ln(L/2π) / "
                       "ln θ. Blank: no value.";
  map.words.footnotes = FewNotes(seeds.notes, 4);
  plot.notes = seeds.notes;
  DrawHeatMap(map, &plot);
  return plot;
}

}  // namespace gyre
