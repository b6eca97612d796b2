#pragma once

// The head of a pretrained decoder: from the normed residual stream to losses. Logits of all of a
// vocabulary are never held: each thread takes rows of the head, and keeps what a softmax needs of
// them.

#include <cstdint>
#include <span>

#include "analysis/linear.h"
#include "trainer/pretrained/hugging_face_config.h"

namespace gyre {

/// Assigns nll (tokens) = ln sum_v exp(logit(v)) - logit(target), 0 where the target is -1. `x`
/// (tokens, hidden) has been through the final norm.
Status HeadLosses(const HuggingFaceConfig& config, std::span<const float> x,
                  std::span<const int32_t> targets, int threads, Linear* linear,
                  std::span<float> nll);

}  // namespace gyre
