#pragma once

// The pretrained models that train.init_from names, on the client's side.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "sweeps/spec/sweep_spec.h"
#include "trainer/data/dataset.h"

namespace gyre {

/// SpecOptions::initial_weights: a folder's model, whose tensors are those of its configuration,
/// without its weights being read and so without a hash. Of a checkpoint only the coordinator
/// knows: nothing.
Result<std::optional<InitialWeights>> LookAtWeights(const std::string& init_from);

/// An object made of a folder's weights.
struct PreparedWeights {
  std::string hash;
  int64_t bytes = 0;
  ModelConfig model;
  PositionConfig position;
};

/// Makes an object of every folder that the sweeps start from; by absolute path. Says on stderr
/// what it does, and where a text among `datasets` (by request) is not in the weights' own tokens.
/// NOT_FOUND, INVALID_ARGUMENT, DATA_LOSS: the file at fault. RESOURCE_EXHAUSTED: the disk is full.
Result<std::map<std::string, PreparedWeights>> PrepareWeights(
    const std::filesystem::path& home, const std::vector<SweepSpec>& sweeps,
    const std::map<std::string, DatasetInfo>& datasets);

}  // namespace gyre
