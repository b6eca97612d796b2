#pragma once

// The points of a sweep's jobs, asked for in SQL, and the cells of the answers.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "results/plots/plotted_sweep.h"

namespace gyre {

struct PlottedPoint {
  int64_t step = 0, tokens = 0;
  double value = 0;  // NaN where it was not finite
};

/// By job, in order of steps. However many there are: asked for in pieces that an AskSql answers.
Result<std::map<int64_t, std::vector<PlottedPoint>>> ReadPoints(const std::vector<int64_t>& jobs,
                                                                const std::string& metric,
                                                                const AskSql& ask);

/// The last value of each metric that begins with `prefix`, by job.
Result<std::map<int64_t, std::map<std::string, double>>> ReadLastValues(
    const std::vector<int64_t>& jobs, const std::string& prefix, const AskSql& ask);

/// Why a plot of the metric has nothing to show: NOT_FOUND with the metrics that the sweep has, or
/// FAILED_PRECONDITION where it has none yet.
Status NothingReported(const PlottedSweep& sweep, const std::string& metric, const AskSql& ask);

/// The same for what comes at the end of a job.
Status NothingFinished(const PlottedSweep& sweep, const std::string& metric, const AskSql& ask);

/// "1, 2, 3" for IN (...).
std::string SqlList(const std::vector<int64_t>& numbers);
/// As SQL text: 'it''s'.
std::string SqlText(std::string_view text);

// Cells of a QueryTable; what is of another type is 0, NaN or empty.
int64_t CellInt(const QueryValue& value);
double CellReal(const QueryValue& value);
std::string CellText(const QueryValue& value);
/// NULL where it is not finite.
QueryValue RealCell(double value);

}  // namespace gyre
