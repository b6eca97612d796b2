#include "trainer/backend/cpu/kernels/kernels.h"
#include "trainer/backend/cpu/kernels/vector_math.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {
namespace {

// Both activations are z sigmoid(u(z)), since (1 + tanh(u / 2)) / 2 = sigmoid(u).
struct Silu {
  static float Argument(float z) { return z; }
  static float ArgumentSlope(float) { return 1; }
};
struct GeluTanh {
  static constexpr float kTwice = 1.5957691216f;  // 2 sqrt(2 / pi)
  static constexpr float kCubic = 0.044715f;
  static float Argument(float z) { return kTwice * (z + kCubic * z * z * z); }
  static float ArgumentSlope(float z) { return kTwice * (1 + 3 * kCubic * z * z); }
};

template <typename A>
void Activate(const GatedRows& op, float* activated) {
  const int n = op.intermediate;
  for (int64_t row = 0; row < op.rows; ++row) {
    const float* gate = op.gate_up + row * 2 * n;
    const float* up = gate + n;
    float* out = activated + row * n;
#pragma omp simd
    for (int i = 0; i < n; ++i) {
      const float z = gate[i];
      out[i] = z * up[i] / (1 + Exp(-A::Argument(z)));
    }
  }
}

template <typename A>
void ActivateBackward(const GatedRows& op, const float* d_activated) {
  const int n = op.intermediate;
  for (int64_t row = 0; row < op.rows; ++row) {
    float* gate = op.gate_up + row * 2 * n;
    float* up = gate + n;
    const float* d_out = d_activated + row * n;
#pragma omp simd
    for (int i = 0; i < n; ++i) {
      const float z = gate[i], d = d_out[i];
      const float e = Exp(-A::Argument(z));
      const float sigmoid = 1 / (1 + e);
      const float rest = e * sigmoid;  // 1 - sigmoid, without cancellation
      const float slope = sigmoid * (1 + z * rest * A::ArgumentSlope(z));
      gate[i] = d * up[i] * slope;
      up[i] = d * z * sigmoid;
    }
  }
}

void ActivateRows(const GatedRows& op, float* activated) {
  (op.activation == Activation::kSilu ? Activate<Silu> : Activate<GeluTanh>)(op, activated);
}

void ActivateRowsBackward(const GatedRows& op, const float* d_activated) {
  (op.activation == Activation::kSilu ? ActivateBackward<Silu>
                                      : ActivateBackward<GeluTanh>)(op, d_activated);
}

}  // namespace

void AddActivation(Kernels* kernels) {
  kernels->activate = ActivateRows;
  kernels->activate_backward = ActivateRowsBackward;
}

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
