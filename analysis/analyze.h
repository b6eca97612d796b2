#pragma once

// A pretrained model looked at on some windows of text: the statistics of training, made by the
// same code, and tables of its first tokens.

#include <functional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "analysis/alignment.h"
#include "analysis/forward_pass.h"
#include "analysis/logit_parts.h"
#include "trainer/statistics/first_tokens.h"
#include "trainer/statistics/record.h"

namespace gyre {

struct AnalysisOptions {
  StatisticsConfig statistics;          // what is collected
  std::set<std::pair<int, int>> heads;  // layer and head: looked at token by token
  int first_tokens = kFirstTokens;      // of the first window; alignments have fewer
  int threads = 1;
  std::stop_token stop;
  std::function<void(const ForwardProgress&)> progress;
};

struct ModelAnalysis {
  std::vector<LayerPosition> positions;
  ForwardLosses losses;
  StatisticsRecord record;  // its tokens: all of the windows'
  std::vector<HeadAlignment> alignments;
  std::vector<LogitParts> parts;  // of the heads that were looked at token by token
};

/// INVALID_ARGUMENT: the tensors aren't those of the configuration, or a head that the model does
/// not have; and as RunForward().
Result<ModelAnalysis> AnalyzeModel(const PretrainedFolder& folder,
                                   const std::vector<TokenWindow>& windows,
                                   const AnalysisOptions& options);

/// A model's configuration as jobs have theirs in the database: {"model", "position", "data":
/// {"context"}}, and what it has beyond that.
std::string ConfigJson(const PretrainedFolder& folder, int context);
/// Its rotation, as jobs have theirs.
std::string RotationJson(const std::vector<LayerPosition>& positions);

}  // namespace gyre
