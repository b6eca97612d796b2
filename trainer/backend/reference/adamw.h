#pragma once

#include <cmath>

#include "trainer/backend/reference/memory.h"

namespace gyre::reference {

template <typename T>
void Norm2(Reals x, int64_t count, Reals norm) {
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) squares += static_cast<double>(Data<T>(x)[i]) * Data<T>(x)[i];
  *Data<T>(norm) = static_cast<T>(std::sqrt(squares));
}

/// What a gradient is multiplied with before it enters AdamW.
inline double ClippedScale(const AdamW& op, double unscaled_norm) {
  const double norm = unscaled_norm * op.gradient_scale;
  if (!std::isfinite(norm)) return NAN;
  const bool clips = op.clip_norm > 0 && norm > op.clip_norm;
  return clips ? op.gradient_scale * op.clip_norm / norm : op.gradient_scale;
}

template <typename T>
void AdamWStep(const AdamW& op) {
  const double scale = ClippedScale(op, *Data<T>(op.gradient_norm));
  const double correction1 = 1 - std::pow(op.beta1, op.step);
  const double correction2 = 1 - std::pow(op.beta2, op.step);
  for (int64_t i = 0; i < op.count; ++i) {
    const double gradient = scale * Data<T>(op.gradient)[i];
    T& m = Data<T>(op.first_moment)[i];
    T& v = Data<T>(op.second_moment)[i];
    T& w = Data<T>(op.weight)[i];
    m = static_cast<T>(op.beta1 * m + (1 - op.beta1) * gradient);
    v = static_cast<T>(op.beta2 * v + (1 - op.beta2) * gradient * gradient);
    const double direction = m / correction1 / (std::sqrt(v / correction2) + op.epsilon);
    w = static_cast<T>(w - op.lr * (direction + op.weight_decay * w));
  }
}

}  // namespace gyre::reference
