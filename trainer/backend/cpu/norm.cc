#include <cstring>

#include "trainer/backend/cpu/device.h"

namespace gyre::cpu {

void Device::NormRowsForward(const NormRows& rows, float* y, float* inverse_rms) const {
  Split(rows.rows, [&](int, Range range) {
    NormRows part = rows;
    part.rows = range.size();
    part.x += range.begin * rows.n;
    kernels_.norm_forward(part, y + range.begin * rows.n, inverse_rms + range.begin);
  });
}

void Device::NormRowsBackward(const NormRows& rows, const float* inverse_rms, const float* dy,
                              bool add, float* dx, float* d_weight) {
  std::memset(partials_, 0, sizeof(float) * static_cast<size_t>(threads_) * rows.n);
  Split(rows.rows, [&](int thread, Range range) {
    NormRows part = rows;
    part.rows = range.size();
    part.x += range.begin * rows.n;
    kernels_.norm_backward(part, inverse_rms + range.begin, dy + range.begin * rows.n, add,
                           dx + range.begin * rows.n, partials_ + int64_t{thread} * rows.n);
  });
  AddPartials(rows.n, rows.n, partials_, d_weight);
}

void Device::AddPartials(int n, int64_t stride, const float* partials, float* sum) const {
  for (int thread = 0; thread < threads_; ++thread) {
    kernels_.add_scaled(n, 1, partials + thread * stride, sum);
  }
}

void Device::NormForward(const Norm& op) {
  NormRowsForward({op.tokens, op.hidden, static_cast<float>(op.kind.epsilon), op.kind.one_plus,
                   Data(op.x), Data(op.weight)},
                  Data(op.y), Data(op.inverse_rms));
}

void Device::NormBackward(const Norm& op, Reals dy, Reals dx, Reals d_weight) {
  NormRowsBackward({op.tokens, op.hidden, static_cast<float>(op.kind.epsilon), op.kind.one_plus,
                    Data(op.x), Data(op.weight)},
                   Data(op.inverse_rms), Data(dy), /*add=*/false, Data(dx), Data(d_weight));
}

}  // namespace gyre::cpu
