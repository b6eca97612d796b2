#pragma once

// A heading, a table and the sentences below it, as a person reads them.

#include <string>
#include <vector>

#include "cli/output_format.h"
#include "cli/output_table.h"

namespace gyre {

struct OutputSection {
  std::string title;
  TextTable table;
  std::vector<std::string> sentences, notes;
};

/// In kTable or kMarkdown; `width` as in RenderTable(). A note is said to be one.
std::string RenderSection(const OutputSection& section, OutputFormat format, int width);

}  // namespace gyre
