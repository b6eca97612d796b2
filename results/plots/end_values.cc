#include "results/plots/end_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "results/plots/line_plot.h"
#include "results/plots/plotted_points.h"

namespace gyre {

Result<std::map<int64_t, PlaceValues>> ReadEndValues(const PlottedSweep& sweep,
                                                     const std::string& metric,
                                                     const PlaceOfMetric& place,
                                                     const AskSql& ask) {
  GYRE_ASSIGN_OR_RETURN(const auto last, ReadLastValues(SourceJobs(sweep), metric, ask));
  std::map<int64_t, PlaceValues> values;
  for (const auto* list : {&sweep.variants, &sweep.baselines}) {
    for (const PlottedVariant& variant : *list) {
      for (const PlottedJob& job : variant.jobs) {
        const auto found = last.find(job.source);
        if (found == last.end()) continue;
        for (const auto& [name, value] : found->second) {
          const auto x = place(variant, std::string_view(name).substr(metric.size()));
          if (x) values[job.source][*x] = value;
        }
      }
    }
  }
  return values;
}

std::optional<int> WholeNumber(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void LimitRangeToSeeds(LinePlot* lines) {
  double low = INFINITY, high = -INFINITY, bars_low = INFINITY, bars_high = -INFINITY;
  for (const PlottedLine& line : lines->lines) {
    for (const auto& [x, y] : line.dots) {
      low = std::min(low, y);
      high = std::max(high, y);
    }
    for (const PlottedLine::Place& place : line.places) {
      low = std::min(low, place.y);
      high = std::max(high, place.y);
      if (!std::isfinite(place.low)) continue;
      bars_low = std::min(bars_low, place.low);
      bars_high = std::max(bars_high, place.high);
    }
  }
  const double height = high - low;
  if (!(height > 0) || !(std::max(bars_high, high) - std::min(bars_low, low) > 3 * height)) return;
  lines->y_range = {low - 0.5 * height, high + 0.5 * height};
  lines->words.footnotes.push_back(
      "Bars go beyond the axes: so few seeds say little about their mean.");
}

}  // namespace gyre
