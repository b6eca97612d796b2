#pragma once

// What `gyre analyze` prints: pure, from what was found to text.

#include <set>
#include <string>
#include <utility>

#include "analysis/analyze.h"
#include "analysis/findings.h"
#include "cli/output_format.h"

namespace gyre {

/// One analysed model, and what it was asked of.
struct AnalysisReport {
  std::string name, variant;
  std::string model;  // what it is, in words
  std::string text;   // which, and how much of it
  ModelAnalysis analysis;
  Findings findings;
  std::set<std::pair<int, int>> heads;  // shown token by token
  int context = 0;
};

/// "llama, 5 layers of 128, 8 heads on 4 of 16, vocabulary 105, RoPE with theta 10000".
std::string ModelInWords(const HuggingFaceConfig& config);

/// Ends with a newline. CSV has a row a head; `width` as in RenderTable().
std::string RenderAnalysis(const AnalysisReport& report, OutputFormat format, int width);

}  // namespace gyre
