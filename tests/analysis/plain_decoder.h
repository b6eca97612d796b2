#pragma once

// A decoder in plain loops and double precision, with everything that ModelExtras says: written
// from the formulas (tests/trainer/reference/README.md, docs/statistics.md) and from nothing of
// analysis/, to hold that against.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trainer/position/rotation.h"
#include "trainer/pretrained/hugging_face_config.h"

namespace gyre {

/// One layer's means over the one window: [head] and [head][pair].
struct PlainLayer {
  std::vector<double> diagonal, previous, first, entropy, distance;
  std::vector<std::vector<double>> contributions, query_norms;
};

struct PlainPass {
  std::vector<double> nll;  // of each token but the last, which predicts nothing
  std::vector<PlainLayer> layers;
};

using PlainWeights = std::map<std::string, std::vector<double>>;  // row-major, by tensor

PlainPass RunPlainly(const HuggingFaceConfig& config, const std::vector<LayerPosition>& positions,
                     const PlainWeights& weights, const std::vector<int32_t>& tokens);

}  // namespace gyre
