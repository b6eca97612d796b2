#pragma once

// The recorded values of tests/trainer/reference/synthetic.json (README.md there, section 9), and
// rotations to hold against them.

#include <nlohmann/json.hpp>

#include "analysis/theory/logits.h"

namespace gyre {

const nlohmann::json& Synthetic();

/// Of an encoding that is right; a failed test and no pairs otherwise.
Rotation RopeRotation(int head_dim, double theta = 10000, double p = 1);

}  // namespace gyre
