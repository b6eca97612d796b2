#pragma once

// The kernels of the CUDA backend, as functions that launch them: one family a file, same stems as
// the CPU's. Narrow is what matrix products multiply: float, or Bf16. Everything is computed in
// float32 between what is read and what is written. Pointers are to device memory, arrays
// row-major and contiguous unless a stride is given, with no alignment beyond their element's: a
// kernel takes its vectorized path where addresses and widths allow it. Every launch goes to
// `stream`; failures throw CudaError (check.h). No atomics: the same shapes give the same bits.
// "assigns" and "adds to" as in backend.h. Sums over rows go through `sums`, scratch memory of as
// many floats as the function beside says, which need not be zeros.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "trainer/backend/backend.h"

namespace gyre::cuda {

using Bf16 = __nv_bfloat16;

// ---- conversion.cu

/// y = x, rounded to nearest, ties to even.
void Narrowed(cudaStream_t stream, const float* x, int64_t count, Bf16* y);

// ---- norm.cu

/// y = g x / sqrt(mean(x^2) + epsilon) of each row; g = weight, or 1 + weight.
struct NormRows {
  const float* x = nullptr;       // (rows, width)
  const float* weight = nullptr;  // (width)
  int64_t rows = 0;
  int width = 0;
  NormKind kind;
};
/// Assigns y (rows, width) and inverse_rms (rows).
template <typename Narrow>
void Normalize(cudaStream_t stream, const NormRows& in, Narrow* y, float* inverse_rms);
/// The same y from the inverse_rms of before.
template <typename Narrow>
void NormalizeAgain(cudaStream_t stream, const NormRows& in, const float* inverse_rms, Narrow* y);
/// dx (rows, width) is assigned, or added to if `add`; d_weight (width) is added to.
void NormalizeBackward(cudaStream_t stream, const NormRows& in, const float* inverse_rms,
                       const float* dy, bool add, float* dx, float* sums, float* d_weight);
int64_t NormSums(int64_t rows, int width);

// ---- rotation.cu

constexpr int kMaxHeadDim = 256;

/// Coordinates (a[i], b[i]) of a head turn by the angle of column pair[i] of the tables.
struct RotatedPairs {
  int count = 0;
  uint8_t a[kMaxHeadDim / 2] = {}, b[kMaxHeadDim / 2] = {}, pair[kMaxHeadDim / 2] = {};
};
/// The heads of q and k within qkv (tokens, (heads + 2 kv_heads) head_dim).
struct RotatedHeads {
  int64_t tokens = 0;
  int length = 0;  // token n is at position n % length
  int heads = 0, kv_heads = 0, head_dim = 0;
  RotatedPairs pairs;
  const float* cosine = nullptr;  // (length, columns)
  const float* sine = nullptr;
  int columns = 0;
};
/// Turns q and k where they are, or turns them back.
template <typename Narrow>
void Rotate(cudaStream_t stream, const RotatedHeads& heads, bool back, Narrow* qkv);

/// The plain norm of every head of q and k, before it is turned.
struct HeadNorms {
  const float* q_norm = nullptr;  // (head_dim)
  const float* k_norm = nullptr;
  double epsilon = 0;
};
/// raw_qk (tokens, (heads + kv_heads) head_dim) takes q and k as they are in qkv, which are then
/// normed and turned; assigns inverse_rms (tokens, heads + kv_heads).
template <typename Narrow>
void NormAndRotate(cudaStream_t stream, const RotatedHeads& heads, const HeadNorms& norms,
                   Narrow* qkv, Narrow* raw_qk, float* inverse_rms);
/// d_qkv becomes the gradient before norm and turn (that of v stays); adds to d_q_norm, d_k_norm
/// (head_dim).
template <typename Narrow>
void NormAndRotateBackward(cudaStream_t stream, const RotatedHeads& heads, const HeadNorms& norms,
                           const Narrow* raw_qk, const float* inverse_rms, Narrow* d_qkv,
                           float* sums, float* d_q_norm, float* d_k_norm);
int64_t HeadNormSums(const RotatedHeads& heads);

// ---- activation.cu

struct ActivatedRows {
  Activation activation = Activation::kSilu;
  bool gated = true;
  int64_t rows = 0;
  int inner = 0;  // I
};
/// activated (rows, I) = activation(gate) * up, or activation(up); gate_up (rows, 2I) or (rows, I).
template <typename Narrow>
void Activate(cudaStream_t stream, const ActivatedRows& in, const Narrow* gate_up,
              Narrow* activated);
/// Assigns d_gate_up, and `activated` as forward had it. d_activated may be `activated` itself.
template <typename Narrow>
void ActivateBackward(cudaStream_t stream, const ActivatedRows& in, const Narrow* gate_up,
                      const Narrow* d_activated, Narrow* d_gate_up, Narrow* activated);

// ---- cross_entropy.cu

struct LogitRows {
  const float* logits = nullptr;  // (rows, stride): vocab of them count
  int64_t stride = 0;
  int64_t rows = 0, vocab = 0;
  const int32_t* targets = nullptr;  // (rows), -1: nll 0, no gradient
};
/// Assigns nll (rows).
void CrossEntropy(cudaStream_t stream, const LogitRows& in, float* nll);
/// Also assigns d_logits (rows, stride), zeros beyond vocab. d_logits may lie on the logits
/// themselves if Narrow is float.
template <typename Narrow>
void CrossEntropyGradient(cudaStream_t stream, const LogitRows& in, Narrow* d_logits, float* nll);

// ---- table.cu

/// x (tokens, hidden) = scale * table[ids].
void TakeRows(cudaStream_t stream, int64_t tokens, int hidden, float scale, const int32_t* ids,
              const float* table, float* x);
/// d_table[ids] += scale * dx, tokens of one id in their order. `order` is scratch memory of
/// AddRowsScratch(tokens) numbers.
void AddRows(cudaStream_t stream, int64_t tokens, int hidden, float scale, const int32_t* ids,
             const float* dx, int64_t* order, float* d_table);
int64_t AddRowsScratch(int64_t tokens);

// ---- flat.cu

/// Assigns norm (1).
void Norm2(cudaStream_t stream, const float* x, int64_t count, double* sums, float* norm);
int64_t Norm2Sums();  // doubles

/// AdamW of backend.h over flat arrays. The clipped scale is computed from `gradient_norm` on the
/// device: nobody waits for it.
struct AdamWArrays {
  const float* gradient = nullptr;
  const float* gradient_norm = nullptr;
  float* weight = nullptr;
  float* first_moment = nullptr;
  float* second_moment = nullptr;
  Bf16* narrow_weight = nullptr;  // null, or also assigned: the new weight, rounded
};
void AdamWUpdate(cudaStream_t stream, const AdamW& op, const AdamWArrays& arrays);

// ---- attention_forward.cu, attention_backward.cu; attention_plain.cu for float

/// Attention of backend.h; document_starts and slopes null: none.
struct AttentionShape {
  int rows = 0, length = 0;
  int heads = 0, kv_heads = 0, head_dim = 0;  // even, at most kMaxHeadDim
  int window = 0;
  const float* slopes = nullptr;             // (heads)
  const int32_t* document_starts = nullptr;  // (rows * length)
};
template <typename Narrow>
void AttentionForward(cudaStream_t stream, const AttentionShape& shape, const Narrow* qkv,
                      Narrow* output, float* log_sum_exp);
/// Assigns d_qkv. `sums`: AttentionSums(shape) floats, linear in the tokens.
template <typename Narrow>
void AttentionBackward(cudaStream_t stream, const AttentionShape& shape, const Narrow* qkv,
                       const Narrow* output, const float* log_sum_exp, const Narrow* d_output,
                       float* sums, Narrow* d_qkv);
int64_t AttentionSums(const AttentionShape& shape);

// ---- attention_statistics.cu

/// AttentionStatistics of backend.h: what is read, and what is assigned.
struct StatisticsArrays {
  const int32_t* lengths = nullptr;      // (rows)
  const int32_t* pairs = nullptr;        // (head_dim / 2, 2)
  const float* amplitudes = nullptr;     // (head_dim / 2)
  float* norms = nullptr;                // (rows, heads + 2 kv_heads, head_dim / 2)
  float* first_norms = nullptr;          // the same
  float* contributions = nullptr;        // (rows, heads, head_dim / 2)
  float* first_contributions = nullptr;  // the same
  float* scores = nullptr;               // (rows, heads, HeadScore::kCount)
};
/// `sums`: StatisticsSums(shape) floats.
template <typename Narrow>
void CollectStatistics(cudaStream_t stream, const AttentionShape& shape, const Narrow* qkv,
                       const float* log_sum_exp, const StatisticsArrays& arrays, float* sums);
int64_t StatisticsSums(const AttentionShape& shape);

}  // namespace gyre::cuda
