#include "trainer/backend/cpu/kernels/kernels.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {
namespace {

void Scale(const float* x, const float* weight, float offset, float inverse_rms, int n, float* y) {
#pragma omp simd
  for (int c = 0; c < n; ++c) y[c] = (offset + weight[c]) * (x[c] * inverse_rms);
}

float Offset(const NormRows& op) { return op.kind.one_plus ? 1.0f : 0.0f; }

void Normalize(const NormRows& op, float* y, float* inverse_rms) {
  const int n = op.n;
  for (int64_t row = 0; row < op.rows; ++row) {
    const float* x = op.x + row * n;
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (int c = 0; c < n; ++c) squares += x[c] * x[c];
    inverse_rms[row] =
        static_cast<float>(1 / __builtin_sqrt(static_cast<double>(squares) / n + op.kind.epsilon));
    Scale(x, op.weight, Offset(op), inverse_rms[row], n, y + row * n);
  }
}

void NormalizeAgain(const NormRows& op, const float* inverse_rms, float* y) {
  for (int64_t row = 0; row < op.rows; ++row) {
    Scale(op.x + row * op.n, op.weight, Offset(op), inverse_rms[row], op.n, y + row * op.n);
  }
}

template <bool kAdd>
void NormalizeBackward(const NormRows& op, const float* inverse_rms, const float* dy, float* dx,
                       float* d_weight) {
  const int n = op.n;
  const float* weight = op.weight;
  const float offset = Offset(op);
  for (int64_t row = 0; row < op.rows; ++row) {
    const float* x = op.x + row * n;
    const float* in = dy + row * n;
    float* out = dx + row * n;
    const float scale = inverse_rms[row];
    float along = 0;  // how much dy would lengthen x
#pragma omp simd reduction(+ : along)
    for (int c = 0; c < n; ++c) along += in[c] * (offset + weight[c]) * x[c];
    const float pull = along * scale * scale / static_cast<float>(n);
#pragma omp simd
    for (int c = 0; c < n; ++c) {
      const float gradient = in[c];
      d_weight[c] += gradient * (x[c] * scale);
      const float change = scale * ((offset + weight[c]) * gradient - pull * x[c]);
      out[c] = kAdd ? out[c] + change : change;
    }
  }
}

}  // namespace

void AddNorm(Kernels* kernels) {
  kernels->normalize = Normalize;
  kernels->normalize_again = NormalizeAgain;
  kernels->normalize_backward_add = NormalizeBackward<true>;
  kernels->normalize_backward_assign = NormalizeBackward<false>;
}

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
