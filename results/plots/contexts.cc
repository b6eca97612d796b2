// Loss at and beyond the training context.

#include <cmath>
#include <set>

#include "results/numbers.h"
#include "results/plots/end_values.h"
#include "results/plots/kinds.h"
#include "results/plots/line_plot.h"
#include "results/plots/plotted_points.h"

namespace gyre {
namespace {

/// "@512"; without one it is the training context's.
std::optional<double> ParseContext(const PlottedVariant& variant, std::string_view rest) {
  if (rest.empty() && variant.context > 0) return variant.context;
  if (!rest.starts_with("@")) return std::nullopt;
  return WholeNumber(rest.substr(1));
}

/// Contexts of which the validation set has no document.
Result<std::set<int>> ContextsWithoutDocuments(const PlottedSweep& sweep, const std::string& metric,
                                               const AskSql& ask) {
  const std::string prefix = metric.substr(0, metric.find('/')) + "/full_windows@";
  GYRE_ASSIGN_OR_RETURN(const auto last, ReadLastValues(SourceJobs(sweep), prefix, ask));
  std::set<int> none;
  for (const auto& [job, windows] : last) {
    for (const auto& [name, count] : windows) {
      const auto context = WholeNumber(std::string_view(name).substr(prefix.size()));
      if (context && count == 0) none.insert(*context);
    }
  }
  return none;
}

QueryTable Rows(const PlottedSweep& sweep, const std::string& metric, const SeedLines& seeds) {
  QueryTable table{{"sweep", "variant", "metric", "training_context", "context", "seeds", "mean",
                    "std", "low", "high"},
                   {}};
  for (const SeedLine& line : seeds.lines) {
    for (const SeedLine::Place& place : line.places) {
      const SeedSummary& at = place.summary;
      table.rows.push_back({sweep.name, line.variant->name, metric, int64_t{line.variant->context},
                            static_cast<int64_t>(place.x), int64_t{at.n}, at.mean, RealCell(at.std),
                            RealCell(at.low), RealCell(at.high)});
    }
  }
  return table;
}

void SetAxis(const SeedLines& seeds, LinePlot* lines) {
  std::set<int> contexts, trained;
  for (const SeedLine& line : seeds.lines) {
    trained.insert(line.variant->context);
    for (const SeedLine::Place& place : line.places) contexts.insert(static_cast<int>(place.x));
  }
  for (const int context : contexts) {
    lines->x_tics.emplace_back(context, std::to_string(context));
  }
  if (trained.size() == 1 && *trained.begin() > 0) {
    lines->marks.push_back({static_cast<double>(*trained.begin()), "training context"});
  }
  lines->log_x = true;
  lines->x_range = {*contexts.begin() / std::sqrt(1.6), *contexts.rbegin() * std::sqrt(1.6)};
}

}  // namespace

Result<Plot> MakeContextsPlot(const PlotOptions& options, const PlottedSweep& sweep,
                              const AskSql& ask) {
  GYRE_ASSIGN_OR_RETURN(const std::string metric, PlottedMetric(options, sweep, "loss"));
  GYRE_ASSIGN_OR_RETURN(const auto values, ReadEndValues(sweep, metric, ParseContext, ask));
  const SeedLineOptions line_options{metric, options.spread.value_or(SeedSpread::kRange),
                                     options.difference, /*ends_only=*/true};
  GYRE_ASSIGN_OR_RETURN(const SeedLines seeds, MakeSeedLines(sweep, values, line_options));
  std::set<double> contexts;
  for (const SeedLine& line : seeds.lines) {
    for (const SeedLine::Place& place : line.places) contexts.insert(place.x);
  }
  if (contexts.size() < 2) {
    return FailedPrecondition("no finished job of " + sweep.name + " has '" + metric +
                              "' at several contexts: it comes at the end of jobs whose sweep has "
                              "evaluate.contexts");
  }
  GYRE_ASSIGN_OR_RETURN(const std::set<int> without, ContextsWithoutDocuments(sweep, metric, ask));

  LinePlot lines;
  lines.words.title = sweep.name + ": " + metric + " by context" +
                      (options.difference ? ", difference to the baseline" : "");
  lines.words.subtitle = SeedsSubtitle(seeds, line_options, "bar") + " At the end of training.";
  lines.words.footnotes = FewNotes(seeds.notes, 4);
  for (const int context : without) {
    lines.words.footnotes.push_back("No document has " + std::to_string(context) +
                                    " tokens: values there are of shorter windows.");
  }
  lines.x_label = "context at evaluation (tokens)";
  lines.y_label = options.difference ? sweep.DifferenceLabel(metric) : sweep.MetricLabel(metric);
  lines.zero_line = options.difference;
  lines.bars = true;
  SetAxis(seeds, &lines);
  lines.lines = NameLines(seeds, metric, &lines.words);
  LimitRangeToSeeds(&lines);

  Plot plot;
  plot.rows = Rows(sweep, metric, seeds);
  plot.notes = seeds.notes;
  DrawLines(lines, &plot);
  return plot;
}

}  // namespace gyre
