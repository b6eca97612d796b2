// Layer x pair, or head x pair of one layer: norms, and exact shares of the logits.

#include <cmath>
#include <limits>
#include <numbers>
#include <set>

#include "results/plots/heat_map.h"
#include "results/plots/kinds.h"
#include "results/plots/line_plot.h"
#include "results/plots/pair_axis.h"
#include "results/plots/plotted_points.h"
#include "results/plots/statistics_rows.h"

namespace gyre {
namespace {

/// What of pairs is shown.
struct PairQuantity {
  StatisticsTable table;
  std::string title, color_label, csv_name, collect;
};

/// A mean over arrays of one length; those of another are left out.
class ArrayMean {
 public:
  void Add(const std::vector<double>& values) {
    if (sums_.empty()) sums_.resize(values.size(), 0);
    if (values.size() != sums_.size()) return;
    for (size_t i = 0; i < values.size(); ++i) sums_[i] += values[i];
    ++count_;
  }
  std::vector<double> Get() const {
    std::vector<double> means = sums_;
    for (double& mean : means) mean /= count_;
    return means;
  }

 private:
  std::vector<double> sums_;
  int count_ = 0;
};

class PairMapMaker {
 public:
  PairMapMaker(const PlotOptions& options, const PlottedSweep& sweep, const PairQuantity& quantity,
               QueryTable* rows)
      : options_(options), sweep_(sweep), quantity_(quantity), rows_(rows) {
    rows_->columns = {"sweep", "variant",           "seeds",      "step",  "layer",          "head",
                      "pair",  "angular_frequency", "wavelength", "turns", quantity.csv_name};
  }

  HeatMapPanel Panel(const ShownVariant& shown,
                     const std::vector<std::vector<double>>& frequencies) const {
    std::map<int, ArrayMean> columns;
    for (const JobStatistics* seed : shown.seeds) {
      for (const auto& [head, values] : seed->values) {
        columns[options_.layer ? head.second : head.first].Add(Numbers(values));
      }
    }
    HeatMapPanel panel;
    panel.title = shown.title;
    panel.x_label = options_.layer ? "head of layer " + std::to_string(*options_.layer) : "layer";
    std::vector<std::vector<double>> of_columns;
    for (const auto& [number, mean] : columns) {
      const std::vector<double> values = mean.Get();
      panel.columns.push_back(std::to_string(number));
      panel.cells.resize(std::max(panel.cells.size(), values.size()));
      of_columns.push_back(FrequenciesOf(frequencies, options_.layer.value_or(number)));
      AddRows(shown, number, of_columns.back(), values);
      for (auto& row : panel.cells) row.resize(panel.columns.size(), kNone);
      for (size_t pair = 0; pair < values.size(); ++pair) {
        panel.cells[pair].back() = values[pair];
      }
    }
    SetPairAxis(of_columns, shown.variant->context, &panel);
    return panel;
  }

 private:
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  static std::vector<double> FrequenciesOf(const std::vector<std::vector<double>>& frequencies,
                                           int layer) {
    const auto place = static_cast<size_t>(layer);
    return place < frequencies.size() ? frequencies[place] : std::vector<double>();
  }

  void AddRows(const ShownVariant& shown, int number, const std::vector<double>& frequencies,
               const std::vector<double>& values) const {
    const QueryValue all = QueryValue();
    for (size_t pair = 0; pair < values.size(); ++pair) {
      const double frequency = pair < frequencies.size() ? frequencies[pair] : kNone;
      const double turns = frequency * shown.variant->context / (2 * std::numbers::pi);
      rows_->rows.push_back(
          {sweep_.name, shown.variant->name, static_cast<int64_t>(shown.seeds.size()),
           shown.seeds.front()->step, int64_t{options_.layer.value_or(number)},
           options_.layer ? QueryValue(int64_t{number}) : all, static_cast<int64_t>(pair),
           RealCell(frequency), RealCell(2 * std::numbers::pi / frequency), RealCell(turns),
           RealCell(values[pair])});
    }
  }

  const PlotOptions& options_;
  const PlottedSweep& sweep_;
  const PairQuantity& quantity_;
  QueryTable* const rows_;
};

bool IsBlank(const HeatMapPanel& panel) {
  for (const auto& row : panel.cells) {
    for (const double value : row) {
      if (std::isfinite(value)) return false;
    }
  }
  return true;
}

std::string ContextWords(const std::vector<ShownVariant>& shown,
                         const std::vector<HeatMapPanel>& panels) {
  std::set<int> contexts;
  bool lines = false, right = false;
  for (size_t i = 0; i < shown.size(); ++i) {
    contexts.insert(shown[i].variant->context);
    lines = lines || !panels[i].lines.empty();
    right = right || !panels[i].right.empty();
  }
  if (!lines && !right) return "";
  if (!lines) return "∞: not rotated. No pair's wavelength crosses the context.";
  if (contexts.size() == 1) return ContextLineInWords(*contexts.begin());
  return "Dashed: pairs below it never complete a turn within the context. ∞: not "
         "rotated.";
}

Result<Plot> MakePairMap(const PlotOptions& options, const PlottedSweep& sweep,
                         const PairQuantity& quantity, const AskSql& ask) {
  GYRE_ASSIGN_OR_RETURN(const auto present,
                        JobsWithStatistics(quantity.table, options, SourceJobs(sweep), ask));
  Plot plot;
  std::vector<ShownVariant> shown = ShowVariants(sweep, present, &plot.notes);
  if (shown.empty()) return NoStatistics(quantity.table, options, sweep, quantity.collect, ask);
  std::vector<int64_t> jobs;
  for (const ShownVariant& one : shown) jobs.insert(jobs.end(), one.jobs.begin(), one.jobs.end());
  GYRE_ASSIGN_OR_RETURN(const auto statistics, ReadStatistics(quantity.table, options, jobs, ask));
  SetSeeds(statistics, &shown);
  HeatMap map;
  const PairMapMaker maker(options, sweep, quantity, &plot.rows);
  std::vector<ShownVariant> drawn;
  for (const ShownVariant& one : shown) {
    GYRE_ASSIGN_OR_RETURN(const auto frequencies,
                          ReadFrequencies(one.jobs.front(), one.seeds.front()->tokens, ask));
    HeatMapPanel panel = maker.Panel(one, frequencies);
    if (IsBlank(panel)) {
      plot.notes.push_back(one.title + ": none of its values is finite");
      continue;
    }
    map.panels.push_back(std::move(panel));
    drawn.push_back(one);
  }
  if (drawn.empty()) return FailedPrecondition("none of the values is finite: nothing to draw");
  map.scale = ScaleOf(map.panels, /*from_zero=*/true, quantity.color_label);
  map.words.title =
      sweep.name + ": " + quantity.title + " by " +
      (options.layer ? "head of layer " + std::to_string(*options.layer) : std::string("layer")) +
      " and frequency pair";
  map.words.subtitle = std::string("Mean over tokens") +
                       (options.layer ? " and " : ", heads and ") + SeedsAndStep(drawn) + ".";
  map.words.footnotes = FewNotes(plot.notes, 4);
  const std::string context = ContextWords(drawn, map.panels);
  if (!context.empty()) map.words.footnotes.insert(map.words.footnotes.begin(), context);
  DrawHeatMap(map, &plot);
  return plot;
}

}  // namespace

Result<Plot> MakeFrequenciesPlot(const PlotOptions& options, const PlottedSweep& sweep,
                                 const AskSql& ask) {
  const std::string tensor = options.tensor.value_or("q");
  const std::string name = tensor == "q" ? "queries" : tensor == "k" ? "keys" : "values";
  PairQuantity quantity;
  quantity.table = {"frequency_norms", options.without_first ? "norms_without_first" : "norms",
                    "tensor = " + SqlText(tensor)};
  quantity.title = "norms of " + name + (options.without_first ? " without the first token" : "");
  quantity.color_label = "mean 2-norm of the pair";
  quantity.csv_name = options.without_first ? "norm_without_first" : "norm";
  quantity.collect = "frequency_norms";
  return MakePairMap(options, sweep, quantity, ask);
}

Result<Plot> MakeContributionsPlot(const PlotOptions& options, const PlottedSweep& sweep,
                                   const AskSql& ask) {
  PairQuantity quantity;
  quantity.table = {"logit_shares", "shares", ""};
  quantity.title = "exact shares of the logits";
  quantity.color_label = "share of the mean |contribution|";
  quantity.csv_name = "share";
  quantity.collect = "logit_shares";
  return MakePairMap(options, sweep, quantity, ask);
}

}  // namespace gyre
