#include "cli/output_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <type_traits>

#include "cli/text_width.h"

namespace gyre {
namespace {

constexpr int kGap = 2;
constexpr int kNarrowestColumn = 8;

/// Makes the table at most `width` wide, where one shortened column can.
void FitWidths(const TextTable& table, int width, std::vector<int>* widths) {
  int total = kGap * (static_cast<int>(widths->size()) - 1);
  for (const int column : *widths) total += column;
  if (width <= 0 || total <= width) return;
  int widest = -1;
  for (size_t i = 0; i < widths->size(); ++i) {
    const bool wider = widest < 0 || (*widths)[i] > (*widths)[static_cast<size_t>(widest)];
    if (!table.columns[i].right && wider) widest = static_cast<int>(i);
  }
  if (widest < 0) return;
  int& column = (*widths)[static_cast<size_t>(widest)];
  column = std::min(column, std::max(kNarrowestColumn, column - (total - width)));
}

void AppendLine(const TextTable& table, const std::vector<int>& widths,
                const std::vector<std::string>& cells, std::string* text) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    std::string cell = Shorten(cells[i], widths[i]);
    if (i > 0) line.append(kGap, ' ');
    line += table.columns[i].right ? PadLeft(std::move(cell), widths[i])
                                   : PadRight(std::move(cell), widths[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  *text += line + "\n";
}

std::string MarkdownCell(std::string_view cell) {
  std::string escaped;
  for (const char c : Visible(cell)) {
    if (std::string_view("\\`*_[]<>|&#~").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string CsvText(std::string text) {
  if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos) {
    text.insert(0, "'");
  }
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string CsvCell(const QueryValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return CsvText(*text);
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return FormatExact(*real);
  return "";
}

std::string TextCell(const QueryValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return "NULL";
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : CsvCell(value);
}

TextTable ToText(const QueryTable& table) {
  TextTable text;
  for (const std::string& name : table.columns) text.columns.push_back({name, true});
  for (const std::vector<QueryValue>& row : table.rows) {
    std::vector<std::string>& cells = text.rows.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) {
      if (std::holds_alternative<std::string>(row[i])) text.columns[i].right = false;
      cells.push_back(TextCell(row[i]));
    }
  }
  return text;
}

}  // namespace

std::string RenderTable(const TextTable& table, int width) {
  std::vector<std::string> names, rules;
  std::vector<int> widths;
  for (const TextColumn& column : table.columns) {
    names.push_back(Visible(column.name));
    widths.push_back(DisplayWidth(names.back()));
  }
  std::vector<std::vector<std::string>> rows = table.rows;
  for (std::vector<std::string>& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = Visible(row[i]);
      widths[i] = std::max(widths[i], DisplayWidth(row[i]));
    }
  }
  FitWidths(table, width, &widths);
  for (const int column : widths) rules.emplace_back(static_cast<size_t>(column), '-');
  std::string text;
  AppendLine(table, widths, names, &text);
  AppendLine(table, widths, rules, &text);
  for (const std::vector<std::string>& row : rows) AppendLine(table, widths, row, &text);
  return text;
}

std::string RenderMarkdown(const TextTable& table) {
  std::string text, rule;
  for (const TextColumn& column : table.columns) {
    text += "| " + MarkdownCell(column.name) + " ";
    rule += column.right ? "| ---: " : "| --- ";
  }
  text += "|\n" + rule + "|\n";
  for (const std::vector<std::string>& row : table.rows) {
    for (const std::string& cell : row) text += "| " + MarkdownCell(cell) + " ";
    text += "|\n";
  }
  return text;
}

std::string RenderCsv(const QueryTable& table) {
  std::string text;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    text += (i > 0 ? "," : "") + CsvText(table.columns[i]);
  }
  text += "\n";
  for (const std::vector<QueryValue>& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) text += (i > 0 ? "," : "") + CsvCell(row[i]);
    text += "\n";
  }
  return text;
}

std::string FormatExact(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

std::string RenderQueryTable(const QueryTable& table, OutputFormat format, int width) {
  switch (format) {
    case OutputFormat::kJson:
      return QueryTableToJson(table) + "\n";
    case OutputFormat::kCsv:
      return RenderCsv(table);
    case OutputFormat::kMarkdown:
      return RenderMarkdown(ToText(table));
    case OutputFormat::kTable:
      break;
  }
  return RenderTable(ToText(table), width);
}

}  // namespace gyre
