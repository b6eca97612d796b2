// What bands of frequencies are worth, by band and layer: the change of a metric when they are
// zeroed or frozen.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "results/numbers.h"
#include "results/plots/end_values.h"
#include "results/plots/heat_map.h"
#include "results/plots/kinds.h"
#include "results/plots/line_plot.h"
#include "results/plots/plotted_points.h"

namespace gyre {
namespace {

constexpr int kAllLayers = -1;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct Band {
  std::string kind;  // zero | freeze
  int begin = 0, end = 0;
  int layer = kAllLayers;
};

/// "zero-24-32", "freeze-0-4-layer-3" (trainer/config/intervention.h); other interventions are
/// none.
std::optional<Band> ParseBand(std::string_view name) {
  Band band;
  const size_t dash = name.find('-');
  band.kind = name.substr(0, dash);
  if (dash == std::string_view::npos || (band.kind != "zero" && band.kind != "freeze")) return {};
  std::string_view rest = name.substr(dash + 1);
  constexpr std::string_view kLayer = "-layer-";
  if (const size_t at = rest.find(kLayer); at != std::string_view::npos) {
    const auto layer = WholeNumber(rest.substr(at + kLayer.size()));
    if (!layer) return {};
    band.layer = *layer;
    rest = rest.substr(0, at);
  }
  const size_t middle = rest.find('-');
  if (middle == std::string_view::npos) return {};
  const auto begin = WholeNumber(rest.substr(0, middle)),
             end = WholeNumber(rest.substr(middle + 1));
  if (!begin || !end) return {};
  band.begin = *begin;
  band.end = *end;
  return band;
}

using Bounds = std::pair<int, int>;
/// By layer and band, the values of the seeds.
using BandValues = std::map<int, std::map<Bounds, std::vector<double>>>;
using Values = std::map<int64_t, std::map<std::string, double>>;

std::map<std::string, BandValues> ByKind(const PlottedVariant& variant, const Values& values,
                                         const std::string& prefix) {
  std::map<std::string, BandValues> kinds;
  for (const PlottedJob& job : variant.jobs) {
    const auto found = values.find(job.source);
    if (!job.counts() || found == values.end()) continue;
    for (const auto& [metric, value] : found->second) {
      const auto band = ParseBand(std::string_view(metric).substr(prefix.size()));
      if (!band) continue;
      kinds[band->kind][band->layer][{band->begin, band->end}].push_back(value);
    }
  }
  return kinds;
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// A row a layer, that of all layers at once at the top.
HeatMapPanel PanelOf(const PlottedSweep& sweep, const std::string& variant, const std::string& kind,
                     const std::string& metric, const BandValues& layers, QueryTable* rows) {
  HeatMapPanel panel;
  panel.title = variant + ": " + kind;
  panel.x_label = "pairs (0: the fastest)";
  panel.y_label = "layer";
  std::map<Bounds, size_t> columns;
  for (const auto& [layer, bands] : layers) {
    for (const auto& [bounds, values] : bands) columns[bounds] = 0;
  }
  for (size_t i = 0; auto& [bounds, column] : columns) {
    column = i++;
    const auto [begin, end] = bounds;
    panel.columns.push_back(std::to_string(begin) +
                            (end == begin + 1 ? "" : "–" + std::to_string(end - 1)));
  }
  for (const auto& [layer, bands] : layers) {
    const bool all = layer == kAllLayers;
    panel.rows.push_back(all ? "all" : std::to_string(layer));
    auto& cells = panel.cells.emplace_back(columns.size(), kNone);
    for (const auto& [bounds, values] : bands) {
      cells[columns[bounds]] = Mean(values);
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      rows->rows.push_back({sweep.name, variant, metric, kind,
                            all ? QueryValue() : QueryValue(int64_t{layer}), int64_t{bounds.first},
                            int64_t{bounds.second}, static_cast<int64_t>(values.size()),
                            RealCell(Mean(values)), RealCell(*low), RealCell(*high)});
    }
  }
  return panel;
}

/// All layers at once change more than any by itself: where both are there, colours tell layers
/// apart.
ColorScale Scale(const std::vector<HeatMapPanel>& panels, const std::string& label) {
  std::vector<HeatMapPanel> single = panels;
  bool any = false;
  for (HeatMapPanel& panel : single) {
    if (panel.rows.empty() || panel.rows.front() != "all") continue;
    panel.cells.erase(panel.cells.begin());
    any = any || !panel.cells.empty();
  }
  return ScaleOf(any ? single : panels, /*from_zero=*/true, label);
}

}  // namespace

Result<Plot> MakeInterventionsPlot(const PlotOptions& options, const PlottedSweep& sweep,
                                   const AskSql& ask) {
  GYRE_ASSIGN_OR_RETURN(const std::string metric, PlottedMetric(options, sweep, "loss_change"));
  const std::string prefix = metric + "/";
  GYRE_ASSIGN_OR_RETURN(const Values values, ReadLastValues(SourceJobs(sweep), prefix, ask));
  Plot plot;
  plot.rows.columns = {"sweep",    "variant", "metric", "kind", "layer", "first_pair",
                       "end_pair", "seeds",   "mean",   "low",  "high"};
  HeatMap map;
  for (const PlottedVariant& variant : sweep.variants) {
    for (const auto& [kind, layers] : ByKind(variant, values, prefix)) {
      map.panels.push_back(PanelOf(sweep, variant.name, kind, metric, layers, &plot.rows));
    }
  }
  if (map.panels.empty()) {
    return FailedPrecondition("no finished job of " + sweep.name + " has '" + metric +
                              "' of bands: it comes at the end of jobs whose sweep has "
                              "evaluate.interventions with zero or freeze");
  }
  if (map.panels.size() > kMostPanels) {
    return FailedPrecondition("the sweep " + sweep.name + " has " +
                              std::to_string(map.panels.size()) +
                              " panels, too many for one plot: choose with --variant");
  }
  map.numbers = true;
  map.scale = Scale(map.panels, sweep.MetricLabel(metric));
  map.words.title = sweep.name + ": " + metric + " without a band of frequencies";
  map.words.subtitle =
      "Mean over seeds. zero: the pairs supply nothing to any logit; freeze: they do not turn. "
      "Colours end with the largest change of a single layer.";
  DrawHeatMap(map, &plot);
  return plot;
}

}  // namespace gyre
