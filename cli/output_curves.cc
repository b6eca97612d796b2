#include "cli/output_curves.h"

#include <algorithm>

#include "cli/output_section.h"
#include "results/numbers.h"

namespace gyre {
namespace {

QueryValue OrNull(const std::optional<double>& value) {
  return value ? QueryValue(*value) : QueryValue();
}

std::string Interval(const std::optional<double>& low, const std::optional<double>& high,
                     int decimals) {
  if (!low || !high) return "-";
  return FormatFixed(*low, decimals) + " to " + FormatFixed(*high, decimals);
}

template <typename Rows>
bool HasSeveralSweeps(const Rows& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const auto& row) { return row.sweep != rows.front().sweep; });
}

/// Enough for the narrowest of the intervals at the ends of the curves. At the beginning, where all
/// models are alike, they are narrower by orders of magnitude.
int StepDecimals(const std::vector<StepDifference>& rows) {
  int decimals = -1;
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool last = i + 1 == rows.size() || rows[i + 1].tokens <= rows[i].tokens;
    if (!last || !rows[i].difference.low) continue;
    const double half_width = (*rows[i].difference.high - *rows[i].difference.low) / 2;
    decimals = std::max(decimals, DecimalsFor(half_width));
  }
  return decimals < 0 ? 3 : std::min(decimals, 5);
}

OutputSection ByStepSection(const Comparison& comparison) {
  const std::vector<StepDifference>& rows = comparison.by_step->rows;
  const bool logarithmic = MetricQuantity(comparison.metric) == "perplexity";
  OutputSection section;
  section.title = comparison.metric + " along the curves; difference from " + comparison.baseline +
                  (logarithmic ? ", of the logarithm, in " : ", in ") +
                  DifferenceUnit(comparison.metric) +
                  ", paired by seed; each 95% interval is of its step alone";
  const bool sweeps = HasSeveralSweeps(rows);
  if (sweeps) section.table.columns.push_back({"sweep"});
  const std::vector<TextColumn> columns = {
      {"variant"},          {"tokens", true},
      {"seeds", true, 2},   {MetricQuantity(comparison.metric), true, 3},
      {"difference", true}, {"95% interval", true}};
  section.table.columns.insert(section.table.columns.end(), columns.begin(), columns.end());
  const int decimals = StepDecimals(rows);
  for (const StepDifference& row : rows) {
    std::vector<std::string>& cells = section.table.rows.emplace_back();
    if (sweeps) cells.push_back(row.sweep);
    cells.insert(cells.end(),
                 {row.variant, FormatCount(static_cast<double>(row.tokens)),
                  std::to_string(row.difference.pairs), FormatFixed(row.mean, decimals),
                  FormatSigned(row.difference.mean, decimals),
                  Interval(row.difference.low, row.difference.high, decimals)});
  }
  section.sentences = comparison.by_step->verdict;
  section.notes = comparison.notes;
  return section;
}

std::string ByStepCsv(const Comparison& comparison) {
  QueryTable table;
  table.columns = {"sweep",         "variant",    "metric", "baseline", "tokens", "pairs", "mean",
                   "baseline_mean", "difference", "low",    "high",     "p",      "unit"};
  for (const StepDifference& row : comparison.by_step->rows) {
    const Difference& difference = row.difference;
    table.rows.push_back({row.sweep, row.variant, comparison.metric, row.baseline, row.tokens,
                          int64_t{difference.pairs}, row.mean, row.baseline_mean, difference.mean,
                          OrNull(difference.low), OrNull(difference.high), OrNull(difference.p),
                          difference.unit});
  }
  return RenderCsv(table);
}

OutputSection ReachSection(const Comparison& comparison) {
  const Reach& reach = *comparison.reach;
  OutputSection section;
  section.title = "tokens at which " + comparison.metric + " first comes down to " +
                  FormatExact(reach.level) + ", mean ± standard deviation over seeds";
  if (!comparison.baseline.empty()) {
    section.title += "; as a share of those of " + comparison.baseline + ", paired by seed";
  }
  const bool sweeps = HasSeveralSweeps(reach.rows);
  if (sweeps) section.table.columns.push_back({"sweep"});
  const std::vector<TextColumn> columns = {{"variant"},
                                           {"reached by", true},
                                           {"tokens", true},
                                           {"share", true, 1},
                                           {"95% interval", true, 2}};
  section.table.columns.insert(section.table.columns.end(), columns.begin(), columns.end());
  for (const ReachedTokens& row : reach.rows) {
    std::vector<std::string>& cells = section.table.rows.emplace_back();
    if (sweeps) cells.push_back(row.sweep);
    std::string tokens = row.mean ? FormatCount(*row.mean) : "-";
    if (row.std) tokens += " ± " + FormatCount(*row.std);
    const bool is_baseline = row.baseline.empty() && !comparison.baseline.empty();
    cells.insert(
        cells.end(),
        {row.variant, std::to_string(row.reached) + " of " + std::to_string(row.seeds), tokens,
         is_baseline ? "baseline"
         : row.share ? FormatFixed(*row.share, 2)
                     : "-",
         Interval(row.low, row.high, 2)});
  }
  section.sentences = reach.notes;
  section.notes = comparison.notes;
  return section;
}

std::string ReachCsv(const Comparison& comparison) {
  QueryTable table;
  table.columns = {"sweep",   "variant", "metric", "baseline", "level", "seeds",
                   "reached", "mean",    "std",    "share",    "low",   "high"};
  for (const ReachedTokens& row : comparison.reach->rows) {
    table.rows.push_back({row.sweep, row.variant, comparison.metric, row.baseline,
                          comparison.reach->level, int64_t{row.seeds}, int64_t{row.reached},
                          OrNull(row.mean), OrNull(row.std), OrNull(row.share), OrNull(row.low),
                          OrNull(row.high)});
  }
  return RenderCsv(table);
}

}  // namespace

std::string RenderByStep(const Comparison& comparison, OutputFormat format, int width) {
  if (format == OutputFormat::kCsv) return ByStepCsv(comparison);
  return RenderSection(ByStepSection(comparison), format, width);
}

std::string RenderReach(const Comparison& comparison, OutputFormat format, int width) {
  if (format == OutputFormat::kCsv) return ReachCsv(comparison);
  return RenderSection(ReachSection(comparison), format, width);
}

}  // namespace gyre
