#pragma once

// What the first tokens of one sequence look like, each by itself: norms of their pairs, and where
// they look. So few that plain loops do. Pure.

#include <vector>

#include "trainer/config/job_config.h"
#include "trainer/model/attention_sums.h"
#include "trainer/position/rotation.h"
#include "trainer/statistics/record.h"

namespace gyre {

/// How many there are of a sequence that is not shorter.
inline constexpr int kFirstTokens = 20;

/// Adds the norms of all heads of q, k and v and the attention of all heads of q, layer by layer;
/// an empty trace adds nothing. `positions` are those that the traces came from.
void AppendFirstTokens(const std::vector<AttentionTrace>& traces,
                       const std::vector<LayerPosition>& positions, const ModelConfig& model,
                       StatisticsRecord* record);

}  // namespace gyre
