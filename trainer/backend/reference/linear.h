#pragma once

// Products with a weight matrix W (outputs, inputs), a row at a time.

#include "trainer/backend/reference/memory.h"

namespace gyre::reference {

/// Assigns y (outputs) = W x.
template <typename T, typename X, typename Y>
void MultiplyRow(const T* weight, const X* x, int inputs, int outputs, Y* y) {
  for (int o = 0; o < outputs; ++o) {
    double sum = 0;
    for (int i = 0; i < inputs; ++i) {
      sum += static_cast<double>(weight[static_cast<int64_t>(o) * inputs + i]) * x[i];
    }
    y[o] = static_cast<Y>(sum);
  }
}

/// Assigns dx (inputs) = W^T dy; adds dy x^T to d_weight.
template <typename T, typename X, typename Y, typename D>
void MultiplyRowBackward(const T* weight, const X* x, int inputs, int outputs, const Y* dy, D* dx,
                         T* d_weight) {
  for (int i = 0; i < inputs; ++i) {
    double sum = 0;
    for (int o = 0; o < outputs; ++o) {
      sum += static_cast<double>(weight[static_cast<int64_t>(o) * inputs + i]) * dy[o];
    }
    dx[i] = static_cast<D>(sum);
  }
  for (int o = 0; o < outputs; ++o) {
    for (int i = 0; i < inputs; ++i) {
      d_weight[static_cast<int64_t>(o) * inputs + i] += static_cast<T>(dy[o] * x[i]);
    }
  }
}

template <typename T>
void Linear(int64_t tokens, int inputs, int outputs, Reals x, Reals weight, Reals y) {
  for (int64_t n = 0; n < tokens; ++n) {
    MultiplyRow(Data<T>(weight), Data<T>(x) + n * inputs, inputs, outputs,
                Data<T>(y) + n * outputs);
  }
}

template <typename T>
void LinearResidualForward(const LinearResidual& op) {
  for (int64_t n = 0; n < op.tokens; ++n) {
    T* y = Data<T>(op.y) + n * op.outputs;
    MultiplyRow(Data<T>(op.weight), Data<T>(op.x) + n * op.inputs, op.inputs, op.outputs, y);
    for (int o = 0; o < op.outputs; ++o) y[o] += Data<T>(op.residual)[n * op.outputs + o];
  }
}

template <typename T>
void LinearResidualBackward(const LinearResidual& op, const LinearResidualGradients& g) {
  for (int64_t n = 0; n < op.tokens; ++n) {
    MultiplyRowBackward(Data<T>(op.weight), Data<T>(op.x) + n * op.inputs, op.inputs, op.outputs,
                        Data<T>(g.dy) + n * op.outputs, Data<T>(g.dx) + n * op.inputs,
                        Data<T>(g.d_weight));
  }
}

}  // namespace gyre::reference
