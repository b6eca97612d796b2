#pragma once

// --format table|json|csv|md: every command that prints rows takes it.

#include <CLI/CLI.hpp>

namespace gyre {

enum class OutputFormat { kTable, kJson, kCsv, kMarkdown };

/// Adds --format to the command; `format` is the default.
void AddFormatOption(CLI::App* command, OutputFormat* format);

}  // namespace gyre
