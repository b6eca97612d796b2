#pragma once

// Products with a weight matrix W (outputs, inputs), whole operations or a part of their rows.

#include "trainer/backend/cpu/device.h"

namespace gyre::cpu {

/// Assigns y (rows, outputs) = x W^T, or adds it; on the calling thread.
void MultiplyRows(Device& device, int64_t rows, int inputs, int outputs, const float* x,
                  const float* weight, float* y, bool add = false);

/// Assigns dx (rows, inputs) = dy W; on the calling thread.
void MultiplyRowsBack(Device& device, int64_t rows, int inputs, int outputs, const float* dy,
                      const float* weight, float* dx);

/// Adds dy^T x to d_weight, with all threads. Rows of dy are dy_stride apart, at least outputs.
void AddWeightGradient(Device& device, int64_t rows, int inputs, int outputs, const float* dy,
                       int64_t dy_stride, const float* x, float* d_weight);

}  // namespace gyre::cpu
