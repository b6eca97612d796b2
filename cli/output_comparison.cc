#include "cli/output_comparison.h"

#include <algorithm>
#include <cmath>

#include "cli/output_table.h"
#include "cli/text_width.h"
#include "results/numbers.h"

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

bool IsBaseline(const Comparison& comparison, const ComparisonRow& row) {
  return row.baseline.empty() && !comparison.baseline.empty();
}

std::vector<std::string> TextRow(const Comparison& comparison, const ComparisonRow& row) {
  const int decimals = DifferenceDecimals(comparison);
  std::string mean = "-", difference = "-", interval = "-", p = "-";
  if (row.mean) {
    const int mean_decimals = MeanDecimals(comparison);
    mean = FormatFixed(*row.mean, mean_decimals);
    if (row.std) mean += " ± " + FormatFixed(*row.std, mean_decimals);
  }
  if (IsBaseline(comparison, row)) difference = "baseline";
  if (row.difference) {
    difference = FormatSigned(row.difference->mean, decimals);
    if (row.difference->low) {
      interval = FormatFixed(*row.difference->low, decimals) + " to " +
                 FormatFixed(*row.difference->high, decimals);
    }
    if (row.difference->p) p = FormatP(*row.difference->p);
  }
  const std::string n = std::to_string(row.n);
  std::vector<std::string> cells = {
      row.variant,
      mean,
      difference,
      interval,
      p,
      row.n == row.seeds ? n : n + " of " + std::to_string(row.seeds),
      FormatCount(static_cast<double>(row.tokens)),
      row.tokens_per_second ? FormatCount(*row.tokens_per_second) : "-",
      std::to_string(row.failed)};
  if (HasSeveralSweeps(comparison)) cells.insert(cells.begin(), row.sweep);
  return cells;
}

TextTable ToText(const Comparison& comparison) {
  TextTable table;
  if (HasSeveralSweeps(comparison)) table.columns.push_back({"sweep"});
  const std::vector<TextColumn> columns = {
      {"variant"},          {MetricQuantity(comparison.metric), true},
      {"difference", true}, {"95% interval", true},
      {"p", true, 1},       {"seeds", true, 2},
      {"tokens", true, 4},  {"tokens/s", true, 5},
      {"failed", true, 3}};
  table.columns.insert(table.columns.end(), columns.begin(), columns.end());
  for (const ComparisonRow& row : comparison.rows) {
    table.rows.push_back(TextRow(comparison, row));
  }
  return table;
}

std::string Title(const Comparison& comparison) {
  std::string text = Visible(comparison.metric) + ", mean ± standard deviation over seeds";
  if (comparison.baseline.empty()) return text;
  const bool logarithmic = MetricQuantity(comparison.metric) == "perplexity";
  return text + "; difference from " + Visible(comparison.baseline) +
         (logarithmic ? ", of the logarithm, in " : ", in ") + DifferenceUnit(comparison.metric) +
         ", paired by seed";
}

QueryValue OrNull(const std::optional<double>& value) {
  return value ? QueryValue(*value) : QueryValue();
}

std::string RenderCsv(const Comparison& comparison) {
  QueryTable table;
  table.columns = {"sweep",  "variant",  "metric",    "n",          "seeds",
                   "mean",   "std",      "baseline",  "difference", "low",
                   "high",   "p",        "unit",      "tokens",     "tokens_per_second",
                   "failed", "diverged", "unfinished"};
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
  }
  return RenderCsv(table);
}

std::string MarkdownList(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += "- " + EscapeMarkdown(sentence) + "\n";
  return text.empty() ? "" : "\n" + text;
}

std::string Sentences(const std::vector<std::string>& sentences, int width) {
  std::string text;
  for (const std::string& sentence : sentences) text += Wrap(Visible(sentence), width, 2) + "\n";
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

std::string RenderComparison(const Comparison& comparison, OutputFormat format, int width) {
  std::vector<std::string> notes = comparison.notes;
  for (std::string& note : notes) note = "note: " + note;
  switch (format) {
    case OutputFormat::kJson:
      return ComparisonToJson(comparison) + "\n";
    case OutputFormat::kCsv:
      return RenderCsv(comparison);
    case OutputFormat::kMarkdown:
      return EscapeMarkdown(Title(comparison)) + "\n\n" + RenderMarkdown(ToText(comparison)) +
             MarkdownList(comparison.verdict) + MarkdownList(notes);
    case OutputFormat::kTable:
      break;
  }
  return Wrap(Title(comparison), width, 2) + "\n\n" + RenderTable(ToText(comparison), width) +
         Sentences(comparison.verdict, width) + Sentences(notes, width);
}

}  // namespace gyre
