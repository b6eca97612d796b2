#pragma once

// The loss of a model on windows of a validation set.

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "trainer/data/windows.h"
#include "trainer/model/model.h"

namespace gyre {

struct LossSum {
  double nats = 0;
  int64_t targets = 0;
};

/// Over `sample` evenly spaced windows (windows.count(): over the whole set), `rows` at a time. The
/// sum runs in one order, in double precision.
Result<LossSum> EvaluateLoss(const Windows& windows, int64_t sample, int rows, Model* model);

}  // namespace gyre
