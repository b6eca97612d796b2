#include "results/plots/plotted_points.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gyre {
namespace {

// An AskSql answers at most kDefaultQueryRows rows; this leaves room.
constexpr int64_t kRowsAtOnce = kDefaultQueryRows / 2;

}  // namespace

Result<std::map<int64_t, std::vector<PlottedPoint>>> ReadPoints(const std::vector<int64_t>& jobs,
                                                                const std::string& metric,
                                                                const AskSql& ask) {
  std::map<int64_t, std::vector<PlottedPoint>> points;
  if (jobs.empty()) return points;
  const std::string which = " FROM points WHERE metric = " + SqlText(metric) + " AND job_id IN (";
  GYRE_ASSIGN_OR_RETURN(const QueryTable counts, ask("SELECT job_id, count(*)" + which +
                                                     SqlList(jobs) + ") GROUP BY job_id"));
  for (size_t next = 0; next < counts.rows.size();) {
    std::vector<int64_t> some;
    for (int64_t rows = 0; next < counts.rows.size(); ++next) {
      rows += CellInt(counts.rows[next][1]);
      if (!some.empty() && rows > kRowsAtOnce) break;
      some.push_back(CellInt(counts.rows[next][0]));
    }
    GYRE_ASSIGN_OR_RETURN(const QueryTable table, ask("SELECT job_id, step, tokens, value" + which +
                                                      SqlList(some) + ") ORDER BY job_id, step"));
    for (const auto& row : table.rows) {
      points[CellInt(row[0])].push_back({CellInt(row[1]), CellInt(row[2]), CellReal(row[3])});
    }
  }
  return points;
}

Result<std::map<int64_t, std::map<std::string, double>>> ReadLastValues(
    const std::vector<int64_t>& jobs, const std::string& prefix, const AskSql& ask) {
  std::map<int64_t, std::map<std::string, double>> values;
  constexpr size_t kJobsAtOnce = 200;
  for (size_t begin = 0; begin < jobs.size(); begin += kJobsAtOnce) {
    const auto first = jobs.begin() + static_cast<ptrdiff_t>(begin);
    const auto count = static_cast<ptrdiff_t>(std::min(kJobsAtOnce, jobs.size() - begin));
    // The bare column is that of the row with the maximum.
    GYRE_ASSIGN_OR_RETURN(
        const QueryTable table,
        ask("SELECT job_id, metric, value, max(step) FROM points WHERE job_id IN (" +
            SqlList({first, first + count}) + ") AND metric >= " + SqlText(prefix) +
            " AND metric < " + SqlText(prefix + "\x7f") + " GROUP BY job_id, metric"));
    for (const auto& row : table.rows) {
      values[CellInt(row[0])][CellText(row[1])] = CellReal(row[2]);
    }
  }
  return values;
}

Status NothingReported(const PlottedSweep& sweep, const std::string& metric, const AskSql& ask) {
  GYRE_ASSIGN_OR_RETURN(const QueryTable table,
                        ask("SELECT DISTINCT metric FROM points WHERE job_id IN (" +
                            SqlList(SourceJobs(sweep)) + ") ORDER BY metric"));
  std::vector<std::string> names;
  for (const auto& row : table.rows) names.push_back(CellText(row[0]));
  if (names.empty()) {
    return FailedPrecondition("no job of " + sweep.name +
                              " has reported anything yet; see: gyre status " + sweep.name);
  }
  return NotFound("no job of " + sweep.name + " has reported '" + metric +
                  "'; there are: " + ListNames(names));
}

Status NothingFinished(const PlottedSweep& sweep, const std::string& metric, const AskSql& ask) {
  for (const PlottedVariant& variant : sweep.variants) {
    for (const PlottedJob& job : variant.jobs) {
      if (job.counts()) return NothingReported(sweep, metric, ask);
    }
  }
  return FailedPrecondition("no job of " + sweep.name +
                            " has finished without diverging, so there is no end to show; see: "
                            "gyre status " +
                            sweep.name);
}

std::string SqlList(const std::vector<int64_t>& numbers) {
  std::string list;
  for (const int64_t number : numbers) list += (list.empty() ? "" : ", ") + std::to_string(number);
  return list;
}

std::string SqlText(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

int64_t CellInt(const QueryValue& value) {
  if (const auto* real = std::get_if<double>(&value)) return static_cast<int64_t>(*real);
  const auto* number = std::get_if<int64_t>(&value);
  return number == nullptr ? 0 : *number;
}

double CellReal(const QueryValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return static_cast<double>(*number);
  const auto* real = std::get_if<double>(&value);
  return real == nullptr ? std::numeric_limits<double>::quiet_NaN() : *real;
}

std::string CellText(const QueryValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? "" : *text;
}

QueryValue RealCell(double value) {
  return std::isfinite(value) ? QueryValue(value) : QueryValue();
}

}  // namespace gyre
