#pragma once

// The loops between the matrix products, as a table of functions. kernels_body.h is compiled once for each instruction
// set, and the machine's best is chosen at run time, so one binary runs everywhere. All memory is float, row-major;
// strides count elements. None of them starts threads; the operations call them on their share of the rows.

#include <cstdint>

#include "trainer/backend/backend.h"

namespace gyre::cpu {

struct NormRows {
  int64_t rows;
  int n;
  float epsilon;
  bool one_plus;
  const float* x;  // (rows, n)
  const float* weight;
};

/// Which keys a query sees, counted within a tile of scores: [first, end).
struct VisibleKeys {
  int first, end;
};

struct AdamWFactors {
  float gradient_scale, beta1, beta2, epsilon;
  float step_size;       // lr / (1 - beta1^step)
  float second_scale;    // 1 / sqrt(1 - beta2^step)
  float decay;           // lr * weight_decay
};

struct Kernels {
  const char* instruction_set;

  /// y = scale x.
  void (*scale)(int64_t n, float scale, const float* x, float* y);
  /// y += scale x.
  void (*add_scaled)(int64_t n, float scale, const float* x, float* y);
  double (*sum_of_squares)(int64_t n, const float* x);

  /// Assigns y (rows, n) and inverse_rms (rows).
  void (*norm_forward)(const NormRows& in, float* y, float* inverse_rms);
  /// Assigns or adds to dx (rows, n), which may be dy; adds to d_weight (n).
  void (*norm_backward)(const NormRows& in, const float* inverse_rms, const float* dy, bool add,
                        float* dx, float* d_weight);
  /// Turns `heads` heads of one token by the pairs' cosines and sines; direction -1 turns back.
  void (*rotate)(int heads, int head_dim, const PairRun* runs, int run_count, const float* cosine,
                 const float* sine, float direction, float* x);

  /// activated (rows, n) = activation(gate) up, of gate_up (rows, 2n).
  void (*gate_forward)(Activation activation, int64_t rows, int n, const float* gate_up,
                       float* activated);
  /// gate_up becomes its gradient.
  void (*gate_backward)(Activation activation, int64_t rows, int n, const float* d_activated,
                        float* gate_up);

  /// Row r of scores (rows, keys; stride) becomes softmax over its visible keys, 0 elsewhere. With a slope, a key gets
  /// slope * (its column - query_column - r) first. Assigns log_sum_exp[r * log_stride].
  void (*softmax)(int rows, int keys, int64_t stride, const VisibleKeys* visible, float slope,
                  int query_column, float* scores, float* log_sum_exp, int64_t log_stride);
  /// The same probabilities again, from the saved log_sum_exp.
  void (*softmax_again)(int rows, int keys, int64_t stride, const VisibleKeys* visible, float slope,
                        int query_column, const float* log_sum_exp, int64_t log_stride,
                        float* scores);
  /// d_scores = scale * p (d_scores - mean_r), mean_r = d_output_r . output_r over n.
  void (*softmax_backward)(int rows, int keys, int64_t stride, const VisibleKeys* visible, float scale,
                           int n, int64_t output_stride, const float* output, const float* d_output,
                           const float* probabilities, float* d_scores);

  /// Assigns nll (rows); with `gradient`, logits (rows, n) become softmax - one-hot, 0 where the target is -1.
  void (*cross_entropy)(int64_t rows, int n, const int32_t* targets, bool gradient, float* logits,
                        float* nll);
  void (*adamw)(int64_t n, const AdamWFactors& factors, const float* gradient, float* weight, float* m,
                float* v);

  /// c (m, n) = alpha a b + beta c, with a and b read through (row, column) strides. For builds without oneDNN.
  void (*product)(int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t a_row,
                  int64_t a_column, const float* b, int64_t b_row, int64_t b_column, float beta,
                  float* c, int64_t c_stride);
};

/// The best that this machine has.
const Kernels& BestKernels();
/// By name ("avx512", "avx2", "baseline"); nullptr if this machine or build lacks it.
const Kernels* FindKernels(const char* instruction_set);

}  // namespace gyre::cpu
