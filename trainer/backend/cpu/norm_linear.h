#pragma once

// y = norm(x) W^T, with which both halves of a layer begin: a block of rows at a time, so that the
// normed rows, which nobody keeps, stay in the cache, and what follows finds y there.

#include "trainer/backend/cpu/device.h"
#include "trainer/backend/cpu/linear.h"
#include "trainer/backend/cpu/thread_sums.h"

namespace gyre::cpu {

struct NormLinear {
  int64_t tokens = 0;
  int hidden = 0, outputs = 0;
  NormKind kind;
  const float* x = nullptr;            // (N, hidden)
  const float* norm_weight = nullptr;  // (hidden)
  const float* weight = nullptr;       // (outputs, hidden)
  float* inverse_rms = nullptr;        // (N)   forward assigns, backward reads
  float* y = nullptr;                  // (N, outputs)   forward assigns

  NormRows Rows(Range rows) const {
    return {x + rows.begin * hidden, norm_weight, rows.size(), hidden, kind};
  }
};

/// Then calls finish(rows) on the thread that has just computed these rows of y.
template <typename Finish>
void NormLinearForward(Device& device, const NormLinear& op, const Finish& finish) {
  device.pool.Run([&](int thread) {
    const Range mine = Split({0, op.tokens}, device.threads(), thread);
    float* normed = device.workspace.rows() + thread * kRowsPerThread * op.hidden;
    for (int64_t n = mine.begin; n < mine.end; n += kRowsPerThread) {
      const Range rows{n, std::min(n + kRowsPerThread, mine.end)};
      device.kernels.normalize(op.Rows(rows), normed, op.inverse_rms + n);
      MultiplyRows(device, rows.size(), op.hidden, op.outputs, normed, op.weight,
                   op.y + n * op.outputs);
      finish(rows);
    }
  });
}

/// Before these rows of dy (N, outputs) are used, calls prepare(rows, thread). Adds to dx (N,
/// hidden), d_norm_weight and d_weight. The threads' sums (hidden) are taken; what lies behind them
/// is the caller's.
template <typename Prepare>
void NormLinearBackward(Device& device, const NormLinear& op, const float* dy, float* dx,
                        float* d_norm_weight, float* d_weight, const Prepare& prepare) {
  const int threads = device.threads();
  ThreadSums sums(device, 0, op.hidden);
  for (int64_t n = 0; n < op.tokens; n += threads * kRowsPerThread) {
    const Range block{n, std::min(n + threads * kRowsPerThread, op.tokens)};
    float* normed = device.workspace.rows();
    device.pool.Run([&](int thread) {
      const Range rows = Split(block, threads, thread);
      if (rows.size() == 0) return;
      prepare(rows, thread);
      const int64_t at = (rows.begin - block.begin) * op.hidden;
      float* d_normed = device.workspace.d_rows() + at;
      const float* inverse_rms = op.inverse_rms + rows.begin;
      device.kernels.normalize_again(op.Rows(rows), inverse_rms, normed + at);
      MultiplyRowsBack(device, rows.size(), op.hidden, op.outputs, dy + rows.begin * op.outputs,
                       op.weight, d_normed);
      device.kernels.normalize_backward_add(op.Rows(rows), inverse_rms, d_normed,
                                            dx + rows.begin * op.hidden, sums.Of(thread));
    });
    AddWeightGradient(device, block.size(), op.hidden, op.outputs, dy + n * op.outputs, op.outputs,
                      normed, d_weight);
  }
  sums.AddTo(d_norm_weight);
}

}  // namespace gyre::cpu
