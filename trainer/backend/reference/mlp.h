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

/// Assigns activated (intermediate) and, if given, the slopes that lead from it to gate_up.
template <typename T>
void ActivateRow(const Mlp& op, const T* gate_up, double* activated, double* d_gate_up) {
  const int n = op.intermediate;
  for (int i = 0; i < n; ++i) {
    const ValueAndSlope a = Activate(op.activation, gate_up[i]);
    const double up = op.gated ? gate_up[n + i] : 1;
    activated[i] = a.value * up;
    if (d_gate_up == nullptr) continue;
    d_gate_up[i] = a.slope * up;
    if (op.gated) d_gate_up[n + i] = a.value;
  }
}

template <typename T>
void MlpForward(const Mlp& op) {
  const int outputs = (op.gated ? 2 : 1) * op.intermediate;
  std::vector<double> h(op.hidden), activated(op.intermediate);
  for (int64_t n = 0; n < op.tokens; ++n) {
    const T* x = Data<T>(op.x) + n * op.hidden;
    T* gate_up = Data<T>(op.gate_up) + n * outputs;
    T* y = Data<T>(op.y) + n * op.hidden;
    Data<T>(op.inverse_rms)[n] =
        static_cast<T>(NormRowForward(x, Data<T>(op.norm_weight), op.hidden, op.kind, h.data()));
    MultiplyRow(Data<T>(op.weight), h.data(), op.hidden, outputs, gate_up);
    ActivateRow(op, gate_up, activated.data(), nullptr);
    MultiplyRow(Data<T>(op.down), activated.data(), op.intermediate, op.hidden, y);
    for (int c = 0; c < op.hidden; ++c) y[c] += x[c];
  }
}

template <typename T>
void MlpBackward(const Mlp& op, const MlpGradients& g) {
  const int outputs = (op.gated ? 2 : 1) * op.intermediate;
  std::vector<double> h(op.hidden), dh(op.hidden), activated(op.intermediate),
      d_activated(op.intermediate), d_gate_up(outputs);
  for (int64_t n = 0; n < op.tokens; ++n) {
    const T* x = Data<T>(op.x) + n * op.hidden;
    T* d_residual = Data<T>(g.d_residual) + n * op.hidden;
    ActivateRow(op, Data<T>(op.gate_up) + n * outputs, activated.data(), d_gate_up.data());
    MultiplyRowBackward(Data<T>(op.down), activated.data(), op.intermediate, op.hidden, d_residual,
                        d_activated.data(), Data<T>(g.d_down));
    for (int i = 0; i < outputs; ++i) d_gate_up[i] *= d_activated[i % op.intermediate];
    NormRowForward(x, Data<T>(op.norm_weight), op.hidden, op.kind, h.data());
    MultiplyRowBackward(Data<T>(op.weight), h.data(), op.hidden, outputs, d_gate_up.data(),
                        dh.data(), Data<T>(g.d_weight));
    NormRowBackward(x, Data<T>(op.norm_weight), op.hidden, op.kind, Data<T>(op.inverse_rms)[n],
                    dh.data(), d_residual, Data<T>(g.d_norm_weight));
  }
}

}  // namespace gyre::reference
