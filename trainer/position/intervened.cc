#include "trainer/position/intervened.h"

#include <algorithm>

#include "trainer/config/intervention.h"

namespace gyre {

Result<std::vector<LayerPosition>> IntervenedPositions(const Intervention& intervention,
                                                       const ModelConfig& model, int length,
                                                       std::vector<LayerPosition> own) {
  GYRE_RETURN_IF_ERROR(CheckIntervention(intervention, model));
  if (intervention.kind == kZero) return own;
  std::vector<LayerPosition> other;
  if (intervention.kind == kPosition) {
    GYRE_ASSIGN_OR_RETURN(other, ResolvePositions(intervention.position, model, length));
  }
  for (size_t layer = 0; layer < own.size(); ++layer) {
    if (!Changes(intervention, static_cast<int>(layer))) continue;
    if (intervention.kind == kPosition) {
      own[layer] = other[layer];
      continue;
    }
    const auto frequencies = own[layer].rotation.frequencies.begin();
    std::fill(frequencies + intervention.pairs.first, frequencies + intervention.pairs.second, 0.0);
  }
  return own;
}

std::vector<ZeroedWeight> ZeroedWeights(const Intervention& intervention, const ModelConfig& model,
                                        const std::vector<LayerPosition>& own) {
  std::vector<ZeroedWeight> weights;
  if (intervention.kind != kZero) return weights;
  for (size_t layer = 0; layer < own.size(); ++layer) {
    if (!Changes(intervention, static_cast<int>(layer))) continue;
    // A norm of each head would make up for rows that are missing, so there it is its weight.
    const int heads = model.qk_norm ? 1 : model.num_attention_heads;
    ZeroedWeight weight{"model.layers." + std::to_string(layer) + ".self_attn." +
                            (model.qk_norm ? "q_norm.weight" : "q_proj.weight"),
                        {}};
    for (int head = 0; head < heads; ++head) {
      for (int pair = intervention.pairs.first; pair < intervention.pairs.second; ++pair) {
        const auto [a, b] = own[layer].rotation.pairs[static_cast<size_t>(pair)];
        weight.rows.push_back(head * model.head_dim + a);
        weight.rows.push_back(head * model.head_dim + b);
      }
    }
    std::sort(weight.rows.begin(), weight.rows.end());
    weights.push_back(std::move(weight));
  }
  return weights;
}

}  // namespace gyre
