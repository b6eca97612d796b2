#include "trainer/backend/cpu/kernels/kernels.h"
#include "trainer/backend/cpu/kernels/lanes.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {
namespace {

float Offset(const NormRows& op) { return op.kind.one_plus ? 1.0f : 0.0f; }

template <typename Narrow>
void Scale(const float* x, const float* weight, float offset, float inverse_rms, int n, Narrow* y) {
  ForLanes(n, [=](int64_t c, auto lanes) {
    const Floats gain = offset + Load(lanes, weight + c);
    Store(lanes, gain * (Load(lanes, x + c) * inverse_rms), y + c);
  });
}

// A step of several rows, then the next step: within one row each waits for the last.
template <typename Narrow>
[[gnu::flatten]] void Normalize(const NormRows& op, Narrow* y, float* inverse_rms) {
  constexpr int kBlock = 8;
  const int n = op.n;
  for (int64_t first = 0; first < op.rows; first += kBlock) {
    const int64_t end = first + kBlock < op.rows ? first + kBlock : op.rows;
    for (int64_t row = first; row < end; ++row) {
      inverse_rms[row] = Sum(n, [x = op.x + row * n](int64_t c, auto lanes) {
        const Floats number = Load(lanes, x + c);
        return number * number;
      });
    }
    for (int64_t row = first; row < end; ++row) {
      const double mean = static_cast<double>(inverse_rms[row]) / n;
      inverse_rms[row] = static_cast<float>(1 / __builtin_sqrt(mean + op.kind.epsilon));
    }
    for (int64_t row = first; row < end; ++row) {
      Scale(op.x + row * n, op.weight, Offset(op), inverse_rms[row], n, y + row * n);
    }
  }
}

// kRows rows at once: d_weight, to which all add, is then read and written once, in their order.
// Adds to dx and assigns y, or, where y is not wanted, assigns dx.
template <bool kAdd, int kRows, typename Narrow>
void NormalizeRowsBackward(const NormRows& op, int64_t first, const float* inverse_rms,
                           const float* dy, float* dx, float* d_weight, Narrow* y) {
  const int n = op.n;
  const float* x = op.x + first * n;
  const float* weight = op.weight;
  const float offset = Offset(op);
  dy += first * n;
  dx += first * n;
  if constexpr (kAdd) y += first * n;
  float scale[kRows], pull[kRows];
  for (int row = 0; row < kRows; ++row) {
    const float along = Sum(n, [=](int64_t c, auto lanes) {  // how much dy would lengthen x
      const Floats gain = offset + Load(lanes, weight + c);
      return gain * Load(lanes, dy + row * n + c) * Load(lanes, x + row * n + c);
    });
    scale[row] = inverse_rms[first + row];
    pull[row] = along * scale[row] * scale[row] / static_cast<float>(n);
  }
  ForLanes(n, [=](int64_t c, auto lanes) {
    const Floats gain = offset + Load(lanes, weight + c);
    Floats d_gain = Load(lanes, d_weight + c);
    for (int row = 0; row < kRows; ++row) {
      const int64_t at = row * n + c;
      const Floats gradient = Load(lanes, dy + at), number = Load(lanes, x + at);
      const Floats unit = number * scale[row];
      d_gain += gradient * unit;
      if constexpr (kAdd) Store(lanes, gain * unit, y + at);
      const Floats change = scale[row] * (gain * gradient - pull[row] * number);
      Store(lanes, kAdd ? Load(lanes, dx + at) + change : change, dx + at);
    }
    Store(lanes, d_gain, d_weight + c);
  });
}

template <bool kAdd, typename Narrow>
[[gnu::flatten]] void NormalizeBackward(const NormRows& op, const float* inverse_rms,
                                        const float* dy, float* dx, float* d_weight, Narrow* y) {
  constexpr int kBlock = 4;
  int64_t row = 0;
  for (; row + kBlock <= op.rows; row += kBlock) {
    NormalizeRowsBackward<kAdd, kBlock>(op, row, inverse_rms, dy, dx, d_weight, y);
  }
  for (; row < op.rows; ++row) {
    NormalizeRowsBackward<kAdd, 1>(op, row, inverse_rms, dy, dx, d_weight, y);
  }
}

void NormalizeBackwardAssign(const NormRows& op, const float* inverse_rms, const float* dy,
                             float* dx, float* d_weight) {
  NormalizeBackward<false, float>(op, inverse_rms, dy, dx, d_weight, nullptr);
}

template <typename Narrow>
void Add(NarrowKernels<Narrow>* kernels) {
  kernels->normalize = Normalize<Narrow>;
  kernels->normalize_backward_add = NormalizeBackward<true, Narrow>;
}

}  // namespace

void AddNorm(Kernels* kernels) {
  Add(&kernels->to_float);
  Add(&kernels->to_bf16);
  kernels->normalize_backward_assign = NormalizeBackwardAssign;
}

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
