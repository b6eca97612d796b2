#pragma once

// What the statistics of a model say in a few numbers: which heads are positional, where norms
// peak, how much the high frequencies have to do with it. docs/analyze.md defines them. Pure.

#include <string>
#include <vector>

#include "trainer/position/rotation.h"
#include "trainer/statistics/record.h"

namespace gyre {

/// Pairs that turn at least this fast (radians a token) are high frequencies: they come round
/// within 63 tokens.
inline constexpr double kHighFrequency = 0.1;

/// "positional", "first-token", "semantic", or empty where a score is not finite; the view
/// head_census has the same words.
std::string KindOf(const HeadScores& scores);

struct HeadFinding {
  HeadScores scores;
  std::string kind;
  /// The part of the squared norms of queries, and of the exact shares of logits, that high
  /// frequencies have. NaN where they were not collected.
  double high_norms = 0, high_logits = 0;

  double positional() const;  // max(diagonal, previous)
};

/// Where norms are largest, as means over the heads of a layer.
struct Peak {
  int pair = -1;         // -1: not known, or all norms are zero
  double frequency = 0;  // of that pair, radians a token
  double ratio = 0;      // its norm, divided by the median of the layer's pairs
};

struct LayerFinding {
  int layer = 0;
  int positional = 0, first_token = 0, semantic = 0;
  Peak queries, keys;
  double high_norms = 0, high_logits = 0;  // means over heads
};

/// Spearman's rank correlation over all heads, with how positional they are.
struct Findings {
  std::vector<HeadFinding> heads;  // layer by layer
  std::vector<LayerFinding> layers;
  double norms_correlation = 0, logits_correlation = 0;
};

/// `positions` are the model's, one a layer. What was not collected is NaN or absent.
Findings FindIn(const StatisticsRecord& record, const std::vector<LayerPosition>& positions);

/// Of values that both lists have at the same places, pairs with a NaN left out; NaN for fewer than
/// three, or where one list is all alike.
double RankCorrelation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace gyre
