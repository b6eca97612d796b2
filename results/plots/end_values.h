#pragma once

// Plots of what jobs came to at their end: the metrics whose names begin with the one asked for,
// each at a place of the horizontal axis.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "results/plots/seed_lines.h"

namespace gyre {

/// Where a metric belongs, from what its name has behind the prefix: "@512" -> 512. Nothing: it is
/// none of the plot.
using PlaceOfMetric = std::function<std::optional<double>(const PlottedVariant&, std::string_view)>;

/// By job.
Result<std::map<int64_t, PlaceValues>> ReadEndValues(const PlottedSweep& sweep,
                                                     const std::string& metric,
                                                     const PlaceOfMetric& place, const AskSql& ask);

/// A whole number that is all of the text.
std::optional<int> WholeNumber(std::string_view text);

/// Bars need more room than what they are about when seeds are few; then the range follows the
/// seeds' own values, and the footnotes say so.
struct LinePlot;
void LimitRangeToSeeds(LinePlot* lines);

}  // namespace gyre
