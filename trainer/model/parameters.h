#pragma once

// Which parameters a model has, and where each lies in the flat buffers (weights, gradients,
// moments alike): all matrices, which decay, then all norms, which do not. The rows of q, k, v and
// those of gate, up follow each other, so that each group is one matrix for the backend.

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/config/job_config.h"

namespace gyre {

struct Parameter {
  std::string name;  // Hugging Face's
  std::vector<int64_t> shape;
  int64_t offset = 0, count = 0;
};

struct LayerOffsets {
  int64_t input_norm = 0, post_attention_norm = 0;
  int64_t qkv = 0, o = 0;          // ((H + 2K) d, C), (C, H d)
  int64_t q_norm = 0, k_norm = 0;  // (d); only with qk_norm
  int64_t gate_up = 0, down = 0;   // (2I, C) or, not gated, (I, C); (C, I)
};

struct ParameterLayout {
  /// INVALID_ARGUMENT with the key's path for shapes that no model has.
  static Result<ParameterLayout> Create(const ModelConfig& config);

  const Parameter* Find(const std::string& name) const;  // null: no such parameter

  std::vector<Parameter> parameters;  // in the order of the buffers
  std::vector<LayerOffsets> layers;
  int64_t embedding = 0, final_norm = 0;
  int64_t head = 0;      // equals embedding when tied
  int64_t matrices = 0;  // elements before the first norm
  int64_t total = 0;
};

}  // namespace gyre
