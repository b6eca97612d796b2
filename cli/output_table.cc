#include "cli/output_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <type_traits>

#include "cli/text_width.h"

namespace gyre {
namespace {

constexpr int kGap = 2;
constexpr int kNarrowestColumn = 8;

int TotalWidth(const std::vector<int>& widths) {
  int total = kGap * (static_cast<int>(widths.size()) - 1);
  for (const int width : widths) total += width;
  return total;
}

void RemoveColumn(size_t column, TextTable* table, std::vector<int>* widths) {
  const auto offset = static_cast<std::ptrdiff_t>(column);
  table->columns.erase(table->columns.begin() + offset);
  widths->erase(widths->begin() + offset);
  for (std::vector<std::string>& row : table->rows) row.erase(row.begin() + offset);
}

void RemoveSpareColumns(int width, TextTable* table, std::vector<int>* widths) {
  while (TotalWidth(*widths) > width) {
    size_t sparest = 0;
    for (size_t i = 1; i < table->columns.size(); ++i) {
      if (table->columns[i].spare > table->columns[sparest].spare) sparest = i;
    }
    if (table->columns.empty() || table->columns[sparest].spare == 0) return;
    RemoveColumn(sparest, table, widths);
  }
}

void ShortenWidestColumn(int width, const TextTable& table, std::vector<int>* widths) {
  const int excess = TotalWidth(*widths) - width;
  int* widest = nullptr;
  for (size_t i = 0; i < widths->size(); ++i) {
    int& column = (*widths)[i];
    if (!table.columns[i].right && (widest == nullptr || column > *widest)) widest = &column;
  }
  if (excess <= 0 || widest == nullptr) return;
  *widest = std::min(*widest, std::max(kNarrowestColumn, *widest - excess));
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

std::string RenderTable(const TextTable& original, int width) {
  TextTable table = original;
  std::vector<int> widths;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    table.columns[i].name = Visible(table.columns[i].name);
    widths.push_back(DisplayWidth(table.columns[i].name));
    for (std::vector<std::string>& row : table.rows) {
      row[i] = Visible(row[i]);
      widths[i] = std::max(widths[i], DisplayWidth(row[i]));
    }
  }
  if (width > 0) {
    RemoveSpareColumns(width, &table, &widths);
    ShortenWidestColumn(width, table, &widths);
  }
  std::vector<std::string> names, rules;
  for (size_t i = 0; i < widths.size(); ++i) {
    names.push_back(table.columns[i].name);
    rules.emplace_back(static_cast<size_t>(widths[i]), '-');
  }
  std::string text;
  AppendLine(table, widths, names, &text);
  AppendLine(table, widths, rules, &text);
  for (const std::vector<std::string>& row : table.rows) AppendLine(table, widths, row, &text);
  return text;
}

std::string EscapeMarkdown(std::string_view text) {
  std::string escaped;
  for (const char c : Visible(text)) {
    if (std::string_view("\\`*_[]<>|&#~").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string RenderMarkdown(const TextTable& table) {
  std::string text, rule;
  for (const TextColumn& column : table.columns) {
    text += "| " + EscapeMarkdown(column.name) + " ";
    rule += column.right ? "| ---: " : "| --- ";
  }
  text += "|\n" + rule + "|\n";
  for (const std::vector<std::string>& row : table.rows) {
    for (const std::string& cell : row) text += "| " + EscapeMarkdown(cell) + " ";
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
