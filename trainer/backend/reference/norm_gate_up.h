#pragma once

#include <cmath>
#include <numbers>
#include <vector>

#include "trainer/backend/reference/linear.h"
#include "trainer/backend/reference/norm.h"

namespace gyre::reference {

struct ValueAndSlope {
  double value, slope;
};

inline ValueAndSlope Activate(Activation activation, double z) {
  if (activation == Activation::kSilu) {
    const double sigmoid = 1 / (1 + std::exp(-z));
    return {z * sigmoid, sigmoid * (1 + z * (1 - sigmoid))};
  }
  const double a = std::sqrt(2 / std::numbers::pi), b = 0.044715;
  const double t = std::tanh(a * (z + b * z * z * z));
  return {0.5 * z * (1 + t), 0.5 * (1 + t) + 0.5 * z * (1 - t * t) * a * (1 + 3 * b * z * z)};
}

template <typename T>
void NormGateUpForward(const NormGateUp& op) {
  std::vector<double> h(op.hidden);
  for (int64_t n = 0; n < op.tokens; ++n) {
    Data<T>(op.inverse_rms)[n] = static_cast<T>(NormRowForward(
        Data<T>(op.x) + n * op.hidden, Data<T>(op.norm_weight), op.hidden, op.kind, h.data()));
    T* gate = Data<T>(op.gate_up) + n * 2 * op.intermediate;
    MultiplyRow(Data<T>(op.weight), h.data(), op.hidden, 2 * op.intermediate, gate);
    const T* up = gate + op.intermediate;
    for (int i = 0; i < op.intermediate; ++i) {
      Data<T>(op.activated)[n * op.intermediate + i] =
          static_cast<T>(Activate(op.activation, gate[i]).value * up[i]);
    }
  }
}

template <typename T>
void NormGateUpBackward(const NormGateUp& op, const NormGateUpGradients& g) {
  std::vector<double> h(op.hidden), dh(op.hidden), d_gate_up(2 * op.intermediate);
  for (int64_t n = 0; n < op.tokens; ++n) {
    const T* gate = Data<T>(op.gate_up) + n * 2 * op.intermediate;
    const T* up = gate + op.intermediate;
    const T* d_activated = Data<T>(g.d_activated) + n * op.intermediate;
    for (int i = 0; i < op.intermediate; ++i) {
      const ValueAndSlope a = Activate(op.activation, gate[i]);
      d_gate_up[i] = d_activated[i] * up[i] * a.slope;
      d_gate_up[op.intermediate + i] = d_activated[i] * a.value;
    }
    const T* x = Data<T>(op.x) + n * op.hidden;
    NormRowForward(x, Data<T>(op.norm_weight), op.hidden, op.kind, h.data());
    MultiplyRowBackward(Data<T>(op.weight), h.data(), op.hidden, 2 * op.intermediate,
                        d_gate_up.data(), dh.data(), Data<T>(g.d_weight));
    NormRowBackward(x, Data<T>(op.norm_weight), op.hidden, op.kind, Data<T>(op.inverse_rms)[n],
                    dh.data(), Data<T>(g.dx) + n * op.hidden, Data<T>(g.d_norm_weight));
  }
}

}  // namespace gyre::reference
