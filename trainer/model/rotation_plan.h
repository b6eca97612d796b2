#pragma once

// A layer's rotation as the backends take it: tables of A cos and A sin, computed in float64, and
// the pairs as runs.

#include <vector>

#include "trainer/backend/backend.h"
#include "trainer/position/rotation.h"

namespace gyre {

struct RotationPlan {
  std::vector<double> cosine, sine;  // (length, pairs)
  std::vector<PairRun>
      runs;  // only pairs that change anything; an unrotated one is passed through bit for bit
};

RotationPlan PlanRotation(const Rotation& rotation, int length);

}  // namespace gyre
