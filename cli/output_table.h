#pragma once

// Rows for people (a table, Markdown) and rows for programs (CSV).

#include <string>
#include <string_view>
#include <vector>

#include "cli/output_format.h"
#include "results/query.h"

namespace gyre {

struct TextColumn {
  std::string name;
  bool right = false;  // numbers stand at the right
  int spare = 0;       // where a table is too wide, columns go from the most spare on; 0 = never
};

/// Cells as people read them.
struct TextTable {
  std::vector<TextColumn> columns;
  std::vector<std::vector<std::string>> rows;  // each as long as `columns`
};

/// Aligned columns under their names. A table wider than `width` (0 = no limit) first loses its
/// spare columns, then the widest left-aligned column is shortened, down to 8 columns. Every line
/// ends with a newline and has no spaces at its end.
std::string RenderTable(const TextTable& table, int width);

/// Markdown that shows the text as it is.
std::string EscapeMarkdown(std::string_view text);

/// A GitHub Markdown table; whatever a cell holds is shown as that text.
std::string RenderMarkdown(const TextTable& table);

/// RFC 4180 with "\n" at the end of lines; numbers with all their digits, NULL empty. Text that a
/// spreadsheet would take for a formula (it begins with = + - @, tab or carriage return) gets a '
/// in front.
std::string RenderCsv(const QueryTable& table);

/// The shortest decimal that reads back as the same double.
std::string FormatExact(double value);

/// The table of typed values in any of the formats; JSON as QueryTableToJson() has it.
std::string RenderQueryTable(const QueryTable& table, OutputFormat format, int width);

}  // namespace gyre
