#pragma once

// The paper's alignment tables: of a head's first tokens, how large a logit could be if query and
// key were aligned, and what the logits of the token itself and of the one before it are. A
// positional head is one whose rotation turns them so that one of the two comes close to the bound.
// Pure.

#include <vector>

#include "trainer/config/job_config.h"
#include "trainer/model/attention_sums.h"

namespace gyre {

/// How many tokens there are in a table.
inline constexpr int kAlignedTokens = 8;

/// Of one head, token by token. Logits with the model's scale (1 / sqrt(d), mostly), without ALiBi
/// and before a softcap.
struct HeadAlignment {
  int layer = 0, head = 0;
  std::vector<double> bounds;    // |q_t| |k_t|, scaled as logits are
  std::vector<double> own;       // logit(t, t)
  std::vector<double> previous;  // logit(t, t - 1); NaN for the first
};

/// Of all heads of a layer, of the first tokens of the trace.
std::vector<HeadAlignment> AlignmentsOf(int layer, const AttentionTrace& trace,
                                        const ModelConfig& model);

}  // namespace gyre
