#pragma once

// What an intervention (config/intervention.h) does to rotations and weights. Pure; everything in
// float64, as rotations are.

#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/config/job_config.h"
#include "trainer/position/rotation.h"

namespace gyre {

/// The model's own positions with the intervention made: `own` where it changes none. `length` as
/// ResolvePositions() has it. INVALID_ARGUMENT: the model has no such pairs or layers.
Result<std::vector<LayerPosition>> IntervenedPositions(const Intervention& intervention,
                                                       const ModelConfig& model, int length,
                                                       std::vector<LayerPosition> own);

/// Which numbers of a weight an intervention sets to zero.
struct ZeroedWeight {
  std::string name;       // Hugging Face's
  std::vector<int> rows;  // ascending; of a vector, its elements
};
/// One a layer that it changes; none for others than `zero`. `own` are the model's positions, which
/// know the coordinates of a pair.
std::vector<ZeroedWeight> ZeroedWeights(const Intervention& intervention, const ModelConfig& model,
                                        const std::vector<LayerPosition>& own);

}  // namespace gyre
