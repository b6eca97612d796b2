#pragma once

// The loops over rows of floats that oneDNN does not do, compiled once for each instruction set,
// into tables of which the processor's best is picked at run time. Each runs on the calling thread,
// and gives the same bits for the same arguments. The files of this folder use no library code and
// nothing that is shared between object files: an inline function compiled here for AVX-512 could
// be the copy that the linker keeps for all.

#include <cstdint>

#include "trainer/backend/backend.h"

namespace gyre::cpu {

/// (rows, n), contiguous.
struct NormRows {
  const float* x = nullptr;
  const float* weight = nullptr;  // (n)
  int64_t rows = 0;
  int n = 0;
  NormKind kind;
};

/// Tokens first .. first + count - 1 of all rows; the place of token i in its row is i % length.
struct RotatedRows {
  float* x = nullptr;  // the first of `heads` heads of the first token
  int64_t stride = 0;  // from token to token
  int heads = 0, head_dim = 0;
  int64_t first = 0, count = 0;
  int length = 0;
  const PairRun* runs = nullptr;
  int run_count = 0, pairs = 0;
  const float* cosine = nullptr;  // (length, pairs)
  const float* sine = nullptr;
};

struct GatedRows {
  Activation activation = Activation::kSilu;
  int64_t rows = 0;
  int intermediate = 0;
  float* gate_up = nullptr;  // (rows, 2 intermediate)
};

/// q k / sqrt(d) of a block of queries and their keys. Query i sees keys first[i] .. last + i.
struct ScoreBlock {
  float* scores = nullptr;  // (queries, stride)
  int64_t stride = 0;       // a multiple of kLanes, at least keys
  int queries = 0, keys = 0;
  const int* first = nullptr;  // (queries)
  int last = 0;
  float slope = 0;  // the logit is less by slope times (last + i - key)
};
struct ScoreBlockGradients {
  float* d_scores = nullptr;      // (queries, stride)
  float scale = 0;                // 1 / sqrt(d)
  const float* output = nullptr;  // of the head: (queries, head_dim), output_stride apart
  const float* d_output = nullptr;
  int64_t output_stride = 0;
  int head_dim = 0;
};

struct LogitRows {
  float* logits = nullptr;  // (rows, stride)
  int64_t stride = 0;       // a multiple of kLanes, at least vocab
  int64_t rows = 0;
  int vocab = 0;
  const int32_t* targets = nullptr;  // -1 = ignored
};

struct AdamWRows {
  int64_t count = 0;
  float gradient_scale = 0, beta1 = 0, beta2 = 0;
  float rest1 = 0, rest2 = 0;              // 1 - beta
  float correction1 = 0, correction2 = 0;  // what m and v are multiplied with
  float lr = 0, epsilon = 0, weight_decay = 0;
  const float* gradient = nullptr;
  float* weight = nullptr;
  float* first_moment = nullptr;
  float* second_moment = nullptr;
};

/// Rows that kernels may run over are padded to this many floats.
inline constexpr int kLanes = 16;

struct MatrixProduct;

struct Kernels {
  const char* instruction_set = nullptr;

  /// Assigns y (rows, n), inverse_rms (rows).
  void (*normalize)(const NormRows& op, float* y, float* inverse_rms);
  /// Assigns y from the inverse_rms that normalize assigned.
  void (*normalize_again)(const NormRows& op, const float* inverse_rms, float* y);
  /// d_weight (n) is added to; dx (rows, n) is added to, or assigned, and then may be dy.
  void (*normalize_backward_add)(const NormRows& op, const float* inverse_rms, const float* dy,
                                 float* dx, float* d_weight);
  void (*normalize_backward_assign)(const NormRows& op, const float* inverse_rms, const float* dy,
                                    float* dx, float* d_weight);

  /// In place, or back: the transpose.
  void (*rotate)(const RotatedRows& op);
  void (*rotate_back)(const RotatedRows& op);

  /// Assigns activated (rows, intermediate).
  void (*activate)(const GatedRows& op, float* activated);
  /// gate_up becomes its gradient.
  void (*activate_backward)(const GatedRows& op, const float* d_activated);

  /// Scores become softmax(logits), 0 where not visible, up to kLanes; assigns log_sum_exp,
  /// `log_stride` apart.
  void (*softmax)(const ScoreBlock& op, float* log_sum_exp, int64_t log_stride);
  /// Scores become softmax(logits) by its log_sum_exp; d_scores, the gradient of the probabilities,
  /// becomes that of q k.
  void (*softmax_backward)(const ScoreBlock& op, const ScoreBlockGradients& gradients,
                           const float* log_sum_exp, int64_t log_stride);

  /// Assigns nll (rows); logits are destroyed, or become the gradient of the sum of nll.
  void (*cross_entropy)(const LogitRows& op, float* nll);
  void (*cross_entropy_gradient)(const LogitRows& op, float* nll);

  void (*adamw)(const AdamWRows& op);
  double (*sum_of_squares)(const float* x, int64_t count);
  /// y = factor x, and y += factor x.
  void (*assign_scaled)(const float* x, float factor, int64_t count, float* y);
  void (*add_scaled)(const float* x, float factor, int64_t count, float* y);

  /// See matrix_product.h.
  void (*multiply)(const MatrixProduct& product);
};

}  // namespace gyre::cpu

// Within this folder: each file fills in its part of the table of the instruction set it is
// compiled for.
#ifdef GYRE_INSTRUCTION_SET
namespace gyre::cpu::GYRE_INSTRUCTION_SET {
void AddNorm(Kernels* kernels);
void AddRotation(Kernels* kernels);
void AddActivation(Kernels* kernels);
void AddSoftmax(Kernels* kernels);
void AddCrossEntropy(Kernels* kernels);
void AddFlat(Kernels* kernels);
void AddProduct(Kernels* kernels);
}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
#endif
