#include "cli/output_comparison.h"

#include <algorithm>
#include <cmath>

#include "cli/output_curves.h"
#include "cli/output_section.h"
#include "cli/output_table.h"
#include "results/numbers.h"
#include "results/power.h"

namespace gyre {
namespace {

bool HasSeveralSweeps(const Comparison& comparison) {
  return std::any_of(comparison.rows.begin(), comparison.rows.end(),
                     [&](const auto& row) { return row.sweep != comparison.rows.front().sweep; });
}

/// Enough decimals for the smallest spread of the column, so that its numbers line up.
int MeanDecimals(const Comparison& comparison) {
  int decimals = -1;
  for (const ComparisonRow& row : comparison.rows) {
    if (row.std && *row.std > 0) decimals = std::max(decimals, DecimalsFor(*row.std));
  }
  return decimals < 0 ? 3 : std::min(decimals, 5);
}

int DifferenceDecimals(const Comparison& comparison) {
  int decimals = -1;
  for (const ComparisonRow& row : comparison.rows) {
    if (!row.difference || !row.difference->low) continue;
    const double half_width = (*row.difference->high - *row.difference->low) / 2;
    decimals = std::max(decimals, DecimalsFor(half_width));
  }
  return decimals < 0 ? 3 : std::min(decimals, 5);
}

// Intervals over documents are often narrower than those over seeds.
int DocumentDecimals(const Comparison& comparison) {
  int decimals = DifferenceDecimals(comparison);
  for (const ComparisonRow& row : comparison.rows) {
    if (!row.difference || !row.difference->documents) continue;
    const DocumentInterval& interval = *row.difference->documents;
    decimals = std::max(decimals, DecimalsFor((interval.high - interval.low) / 2));
  }
  return std::min(decimals, 5);
}

bool IsBaseline(const Comparison& comparison, const ComparisonRow& row) {
  return row.baseline.empty() && !comparison.baseline.empty();
}

/// What is worth a column: a correction of one p-value is none, and not every sweep has documents.
struct Columns {
  bool sweep = false, adjusted = false, documents = false, needed = false;
};

Columns ColumnsOf(const Comparison& comparison) {
  Columns columns;
  columns.sweep = HasSeveralSweeps(comparison);
  columns.adjusted = comparison.family > 1;
  for (const ComparisonRow& row : comparison.rows) {
    if (!row.difference) continue;
    columns.documents |= row.difference->documents.has_value();
    columns.needed |= row.difference->std.has_value();
  }
  return columns;
}

std::string Interval(double low, double high, int decimals) {
  return FormatFixed(low, decimals) + " to " + FormatFixed(high, decimals);
}

std::string SeedsNeeded(const Difference& difference) {
  if (!difference.std) return "-";
  return difference.seeds_needed ? std::to_string(*difference.seeds_needed)
                                 : ">" + std::to_string(kMostPairs);
}

struct DifferenceCells {
  std::string difference = "-", interval = "-", p = "-", adjusted = "-", documents = "-",
              needed = "-";
};

DifferenceCells CellsOf(const Difference& difference, int decimals, int document_decimals) {
  DifferenceCells cells;
  cells.difference = FormatSigned(difference.mean, decimals);
  if (difference.low) cells.interval = Interval(*difference.low, *difference.high, decimals);
  if (difference.p) cells.p = FormatP(*difference.p);
  if (difference.p_adjusted) cells.adjusted = FormatP(*difference.p_adjusted);
  if (difference.documents) {
    cells.documents =
        Interval(difference.documents->low, difference.documents->high, document_decimals);
  }
  cells.needed = SeedsNeeded(difference);
  return cells;
}

std::vector<std::string> TextRow(const Comparison& comparison, const Columns& columns,
                                 const ComparisonRow& row) {
  std::string mean = "-";
  if (row.mean) {
    const int mean_decimals = MeanDecimals(comparison);
    mean = FormatFixed(*row.mean, mean_decimals);
    if (row.std) mean += " ± " + FormatFixed(*row.std, mean_decimals);
  }
  DifferenceCells difference;
  if (row.difference) {
    difference =
        CellsOf(*row.difference, DifferenceDecimals(comparison), DocumentDecimals(comparison));
  }
  if (IsBaseline(comparison, row)) difference.difference = "baseline";
  const std::string n = std::to_string(row.n);
  std::vector<std::string> cells;
  if (columns.sweep) cells.push_back(row.sweep);
  cells.insert(cells.end(),
               {row.variant, mean, difference.difference, difference.interval, difference.p});
  if (columns.adjusted) cells.push_back(difference.adjusted);
  if (columns.documents) cells.push_back(difference.documents);
  cells.push_back(row.n == row.seeds ? n : n + " of " + std::to_string(row.seeds));
  if (columns.needed) cells.push_back(difference.needed);
  cells.insert(cells.end(), {FormatCount(static_cast<double>(row.tokens)),
                             row.tokens_per_second ? FormatCount(*row.tokens_per_second) : "-",
                             std::to_string(row.failed)});
  return cells;
}

TextTable ToText(const Comparison& comparison) {
  const Columns has = ColumnsOf(comparison);
  TextTable table;
  std::vector<TextColumn>& columns = table.columns;
  if (has.sweep) columns.push_back({"sweep"});
  columns.push_back({"variant"});
  columns.push_back({MetricQuantity(comparison.metric), true});
  columns.push_back({"difference", true});
  columns.push_back({"95% interval", true});
  columns.push_back({"p", true, has.adjusted ? 5 : 1});
  if (has.adjusted) columns.push_back({"p (Holm)", true, 1});
  if (has.documents) columns.push_back({"over documents", true, 2});
  columns.push_back({"seeds", true, 3});
  if (has.needed) columns.push_back({"needed", true, 4});
  columns.push_back({"tokens", true, 7});
  columns.push_back({"tokens/s", true, 8});
  columns.push_back({"failed", true, 6});
  for (const ComparisonRow& row : comparison.rows) {
    table.rows.push_back(TextRow(comparison, has, row));
  }
  return table;
}

std::string Title(const Comparison& comparison) {
  std::string text = comparison.metric + ", mean ± standard deviation over seeds";
  if (comparison.baseline.empty()) return text;
  const bool logarithmic = MetricQuantity(comparison.metric) == "perplexity";
  text += "; difference from " + comparison.baseline +
          (logarithmic ? ", of the logarithm, in " : ", in ") + DifferenceUnit(comparison.metric) +
          ", paired by seed (same first weights and batches)";
  if (comparison.family > 1) {
    text += "; p (Holm) allows for all " + std::to_string(comparison.family) + " comparisons";
  }
  return text;
}

QueryValue OrNull(const std::optional<double>& value) {
  return value ? QueryValue(*value) : QueryValue();
}

std::string RenderCsv(const Comparison& comparison) {
  QueryTable table;
  table.columns = {"sweep",
                   "variant",
                   "metric",
                   "n",
                   "seeds",
                   "mean",
                   "std",
                   "baseline",
                   "difference",
                   "low",
                   "high",
                   "p",
                   "unit",
                   "tokens",
                   "tokens_per_second",
                   "failed",
                   "diverged",
                   "unfinished",
                   "pairs",
                   "p_adjusted",
                   "difference_std",
                   "resolvable",
                   "seeds_needed",
                   "documents_low",
                   "documents_high",
                   "documents"};
  for (const ComparisonRow& row : comparison.rows) {
    const Difference difference = row.difference.value_or(Difference());
    const bool has = row.difference.has_value();
    table.rows.push_back({row.sweep, row.variant, comparison.metric, int64_t{row.n},
                          int64_t{row.seeds}, OrNull(row.mean), OrNull(row.std), row.baseline,
                          has ? QueryValue(difference.mean) : QueryValue(), OrNull(difference.low),
                          OrNull(difference.high), OrNull(difference.p),
                          has ? QueryValue(difference.unit) : QueryValue(), row.tokens,
                          OrNull(row.tokens_per_second), int64_t{row.failed}, int64_t{row.diverged},
                          int64_t{row.unfinished}});
    std::vector<QueryValue>& cells = table.rows.back();
    cells.push_back(has ? QueryValue(int64_t{difference.pairs}) : QueryValue());
    for (const auto& value : {difference.p_adjusted, difference.std, difference.resolvable}) {
      cells.push_back(OrNull(value));
    }
    cells.push_back(difference.seeds_needed ? QueryValue(int64_t{*difference.seeds_needed})
                                            : QueryValue());
    const auto& documents = difference.documents;
    cells.push_back(documents ? QueryValue(documents->low) : QueryValue());
    cells.push_back(documents ? QueryValue(documents->high) : QueryValue());
    cells.push_back(documents ? QueryValue(int64_t{documents->documents}) : QueryValue());
  }
  return RenderCsv(table);
}

}  // namespace

OutputSection ComparisonSection(const Comparison& comparison) {
  return {Title(comparison), ToText(comparison), comparison.verdict, comparison.notes};
}

std::string RenderComparison(const Comparison& comparison, OutputFormat format, int width) {
  if (format == OutputFormat::kJson) return ComparisonToJson(comparison) + "\n";
  if (comparison.by_step || comparison.reach) {
    std::string text;
    if (comparison.by_step) text += RenderByStep(comparison, format, width);
    if (comparison.reach) {
      text += (text.empty() ? "" : "\n") + RenderReach(comparison, format, width);
    }
    return text;
  }
  if (format == OutputFormat::kCsv) return RenderCsv(comparison);
  return RenderSection(ComparisonSection(comparison), format, width);
}

}  // namespace gyre
