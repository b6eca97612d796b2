#pragma once

// What the benchmark found, for people, for docs/performance.md, and for programs.

#include <string>
#include <vector>

#include "bench/comparison.h"

namespace gyre {

/// Processor, cores, instruction set, memory.
std::string MachineLine();

/// A block of lines about one case.
std::string CaseText(const CaseResult& result);

/// A row a case. "!" marks what was not measured on a quiet machine.
std::string MarkdownTable(const std::vector<CaseResult>& results);

/// Everything, every sample too.
Json ResultsJson(const std::vector<CaseResult>& results);

}  // namespace gyre
