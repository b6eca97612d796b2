#pragma once

// One row of the root mean square norm, forward and backward, and the operation over all rows.

#include <cmath>

#include "trainer/backend/reference/memory.h"

namespace gyre::reference {

template <typename T>
double Gain(const T* weight, int c, const NormKind& kind) {
  return kind.one_plus ? 1.0 + weight[c] : weight[c];
}

/// Assigns y (n); returns 1 / sqrt(mean(x^2) + epsilon).
template <typename T, typename Y>
double NormRowForward(const T* x, const T* weight, int n, const NormKind& kind, Y* y) {
  double squares = 0;
  for (int c = 0; c < n; ++c) squares += static_cast<double>(x[c]) * x[c];
  const double inverse_rms = 1 / std::sqrt(squares / n + kind.epsilon);
  for (int c = 0; c < n; ++c) y[c] = static_cast<Y>(Gain(weight, c, kind) * x[c] * inverse_rms);
  return inverse_rms;
}

/// dx (n) and d_weight (n) are added to.
template <typename T, typename Y, typename X>
void NormRowBackward(const T* x, const T* weight, int n, const NormKind& kind, double inverse_rms,
                     const Y* dy, X* dx, T* d_weight) {
  double along = 0;  // how much dy would lengthen x
  for (int c = 0; c < n; ++c) along += dy[c] * Gain(weight, c, kind) * x[c];
  const double pull = along * inverse_rms * inverse_rms / n;
  for (int c = 0; c < n; ++c) {
    dx[c] += static_cast<X>(inverse_rms * (Gain(weight, c, kind) * dy[c] - pull * x[c]));
    d_weight[c] += static_cast<T>(dy[c] * x[c] * inverse_rms);
  }
}

template <typename T>
void NormForward(const Norm& op) {
  for (int64_t n = 0; n < op.tokens; ++n) {
    Data<T>(op.inverse_rms)[n] =
        static_cast<T>(NormRowForward(Data<T>(op.x) + n * op.hidden, Data<T>(op.weight), op.hidden,
                                      op.kind, Data<T>(op.y) + n * op.hidden));
  }
}

template <typename T>
void NormBackward(const Norm& op, Reals dy, Reals dx, Reals d_weight) {
  for (int64_t i = 0; i < op.tokens * op.hidden; ++i) Data<T>(dx)[i] = 0;
  for (int64_t n = 0; n < op.tokens; ++n) {
    const int64_t row = n * op.hidden;
    NormRowBackward(Data<T>(op.x) + row, Data<T>(op.weight), op.hidden, op.kind,
                    Data<T>(op.inverse_rms)[n], Data<T>(dy) + row, Data<T>(dx) + row,
                    Data<T>(d_weight));
  }
}

}  // namespace gyre::reference
