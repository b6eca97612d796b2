#pragma once

// The loops over rows of floats that oneDNN does not do, compiled once for each instruction set,
// into tables of which the processor's best is picked at run time. Each runs on the calling thread,
// and gives the same bits for the same arguments. The files of this folder use no library code and
// nothing that is shared between object files: an inline function compiled here for AVX-512 could
// be the copy that the linker keeps for all.

#include <cstdint>

#include "trainer/backend/backend.h"

namespace gyre::cpu {

/// bfloat16: the upper half of a float.
struct Bf16 {
  uint16_t bits = 0;
};

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
  int heads = 0, head_dim = 0;  // the heads that turn come first in a token's `width` numbers
  int width = 0;
  int64_t first = 0, count = 0;
  int length = 0;
  const PairRun* runs = nullptr;
  int run_count = 0, pairs = 0;
  const float* cosine = nullptr;  // (length, pairs)
  const float* sine = nullptr;
};

struct ActivatedRows {
  Activation activation = Activation::kSilu;
  bool gated = true;
  int64_t rows = 0;
  int intermediate = 0;
  bool far = false;  // what is kept is read again only when no cache has it any more
};

/// q k of a block of queries and their keys; the logit is `scale` times that, less slope (last + i
/// - key). Query i sees keys first[i] .. last + i.
struct ScoreBlock {
  float* scores = nullptr;  // (queries, stride)
  int64_t stride = 0;       // a multiple of kLanes, at least keys; of all that has this shape
  int queries = 0, keys = 0;
  const int* first = nullptr;  // (queries)
  int last = 0;
  float scale = 1, slope = 0;
};

/// A block of queries of one head and of keys of theirs, whose rows (2 pairs each) have the first
/// coordinates of all pairs and then the second ones, of `pairs` pairs (a multiple of kLanes) with
/// zeros where there are none. Query i sees the keys up to i, and at most `window` of them.
struct StatisticsBlock {
  const float* query_rows = nullptr;
  const float* key_rows = nullptr;
  int pairs = 0;
  int first_query = 0, queries = 0;  // places in the row of tokens
  int first_key = 0, keys = 0;
  int window = 0;                      // 0 = no limit
  const float* log_sum_exp = nullptr;  // of the queries, `log_stride` apart
  int64_t log_stride = 0;
  float scale = 1, slope = 0;  // the logit is `scale` times q k, less slope (i - j)
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

/// Rows that kernels may run over are padded to this many numbers.
inline constexpr int kLanes = 16;

template <typename In, typename Out>
struct MatrixProduct;

/// c (m, n) = a b, or addend + a b, where k is a multiple of kTileDepth and n one of kLanes. b is
/// packed in tiles, and so may a be, whose m then lacks at most kLanes - 1 of a multiple of kLanes.
inline constexpr int kTileDepth = 32;
template <typename Out>
struct TileProduct {
  int64_t m = 0, n = 0, k = 0;
  const Bf16* a = nullptr;
  int64_t a_stride = 0;  // between rows; 0: packed
  const Bf16* b = nullptr;
  int64_t b_depth = 0;  // of the matrix that was packed, if b is but rows of it; else k
  Out* c = nullptr;
  int64_t c_stride = 0;
  const float* addend = nullptr;  // rows lie c_stride apart; may be c
};

/// Products of Bf16 on the processor's tiles (AMX), where it has them: 16 x 32 numbers each. In a
/// packed matrix tiles lie as products take them: kTileStrip columns of b (or rows of a), then the
/// next, and of each kTileDepth rows (or columns of a) after the other. Rows from `at` on of a
/// matrix whose columns are a multiple of kTileStrip lie kTileStrip * at further.
inline constexpr int kTileStrip = 32;

/// gate_up (rows, width) = a b, where b is packed, with what its activation makes of it. rows, k
/// and intermediate are multiples of kTileStrip.
struct ActivatedProduct {
  ActivatedRows activated;
  int64_t k = 0;
  const Bf16* a = nullptr;  // (rows, k)
  const Bf16* b = nullptr;
  Bf16* kept = nullptr;         // (rows, width): gate_up
  Bf16* activations = nullptr;  // (rows, intermediate), packed as an a
};
/// d_activated (rows, intermediate) = a b, where b is packed, and what it makes of the gradients.
/// `at` and `depth` are those of TileKernels' pack_rows, of the products that give gradients of
/// weights.
struct ActivatedGradient {
  ActivatedRows activated;
  int64_t k = 0;
  const Bf16* a = nullptr;  // (rows, k)
  const Bf16* b = nullptr;
  const Bf16* kept = nullptr;  // (rows, width)
  Bf16* d_gate_up = nullptr;   // (rows, width), packed as an a
  int64_t at = 0, depth = 0;
  Bf16* d_transposed = nullptr;  // (width, depth), packed as an a
  Bf16* activations = nullptr;   // (depth, intermediate), packed as a b
};

/// kTileStrip rows of head_dim numbers that are needed later, fetched meanwhile.
struct NextRows {
  const Bf16* first = nullptr;  // or none
  int64_t stride = 0;
};
/// kTileStrip queries of a head and `keys` keys; both that and head_dim are multiples of
/// kTileStrip. What ScoreBlock says of the last four goes for these, too; `first` never falls.
struct QueryStrip {
  int head_dim = 0, keys = 0;
  const Bf16* queries = nullptr;  // rows lie `stride` apart
  int64_t stride = 0;
  const Bf16* key_columns = nullptr;  // (head_dim, keys), packed as a b
  float* log_sum_exp = nullptr;       // of the queries, `log_stride` apart
  int64_t log_stride = 0;
  const int* first = nullptr;
  int last = 0;
  float scale = 1, slope = 0;
  static constexpr int kMostNext = 8;
  NextRows next[kMostNext];
};
/// output (kTileStrip, head_dim) = softmax(logits) values; assigns log_sum_exp.
struct AttendedStrip {
  QueryStrip strip;
  const Bf16* value_rows = nullptr;  // rows of a b (depth, head_dim) that is packed
  int64_t depth = 0;
  float* scores = nullptr;        // (keys, kTileStrip): scratch memory, as the next
  Bf16* probabilities = nullptr;  // (kTileStrip, keys)
  Bf16* output = nullptr;         // rows lie output_stride apart
  int64_t output_stride = 0;
};
/// d_queries (kTileStrip, head_dim), whose rows lie strip.stride apart, and what gives gradients of
/// keys and values: probabilities and their scores' gradients at columns at .. at + kTileStrip - 1
/// of an a (keys, depth) that is packed, zeros where a query does not see a key. means (kTileStrip)
/// as for softmax_backward.
struct StripGradient {
  QueryStrip strip;
  const Bf16* d_output = nullptr;  // rows lie output_stride apart
  int64_t output_stride = 0;
  const float* means = nullptr;
  const Bf16* value_columns = nullptr;  // (head_dim, keys), packed as a b
  const Bf16* key_rows = nullptr;       // rows of a b (key_depth, head_dim) that is packed
  int64_t key_depth = 0;
  Bf16* d_scores = nullptr;  // (kTileStrip, keys): scratch memory
  int64_t at = 0, depth = 0;
  Bf16 *probabilities_transposed = nullptr, *d_transposed = nullptr;
  Bf16* d_queries = nullptr;
};

struct TileKernels {
  bool available = false;
  /// Rows at .. at + rows - 1 of b (depth, columns) = x (rows, columns), whose rows lie `stride`
  /// apart. `rows` and `at` are multiples of kTileDepth, `columns` of kLanes.
  void (*pack_rows)(const Bf16* x, int64_t stride, int64_t rows, int64_t columns, int64_t at,
                    int64_t depth, Bf16* b) = nullptr;
  void (*pack_float_rows)(const float* x, int64_t stride, int64_t rows, int64_t columns, int64_t at,
                          int64_t depth, Bf16* b) = nullptr;
  /// As pack_rows, but columns at .. at + rows - 1 of a (columns, depth) = x^T.
  void (*pack_transposed)(const Bf16* x, int64_t stride, int64_t rows, int64_t columns, int64_t at,
                          int64_t depth, Bf16* a) = nullptr;
  /// b (columns, rows) = x^T. `rows` is a multiple of kLanes, `columns` of kTileDepth.
  void (*pack_columns)(const Bf16* x, int64_t stride, int64_t rows, int64_t columns,
                       Bf16* b) = nullptr;
  void (*pack_float_columns)(const float* x, int64_t stride, int64_t rows, int64_t columns,
                             Bf16* b) = nullptr;
  void (*multiply)(const TileProduct<float>& product) = nullptr;
  void (*multiply_to_narrow)(const TileProduct<Bf16>& product) = nullptr;
  void (*activate)(const ActivatedProduct& product) = nullptr;
  void (*activate_backward)(const ActivatedGradient& product) = nullptr;
  void (*attend)(const AttendedStrip& op) = nullptr;
  void (*attend_backward)(const StripGradient& op) = nullptr;
};

/// Those whose results go into matrix products: Narrow is float or Bf16. Whatever is computed is
/// computed in float; Bf16 is rounded to nearest, ties to even, a NaN stays one, and denormal
/// numbers become zeros.
template <typename Narrow>
struct NarrowKernels {
  /// y = x, and back.
  void (*narrow)(const float* x, int64_t count, Narrow* y);
  void (*widen)(const Narrow* x, int64_t count, float* y);
  /// y (columns, rows) = x^T; rows of x lie `stride` apart, those of y `y_stride`.
  void (*transpose)(const Narrow* x, int64_t stride, int64_t rows, int64_t columns, Narrow* y,
                    int64_t y_stride);

  /// Assigns y (rows, n), inverse_rms (rows). y may be x.
  void (*normalize)(const NormRows& op, Narrow* y, float* inverse_rms);
  /// d_weight (n) and dx (rows, n) are added to; assigns y (rows, n) as normalize did.
  void (*normalize_backward_add)(const NormRows& op, const float* inverse_rms, const float* dy,
                                 float* dx, float* d_weight, Narrow* y);

  /// y (count, width) = x turned; x is destroyed. Back: the transpose, from the narrow one, to
  /// another place or where it is.
  void (*rotate)(const RotatedRows& op, float* x, Narrow* y);
  void (*rotate_back)(const RotatedRows& op, const Narrow* x, float* y);
  void (*rotate_back_in_place)(const RotatedRows& op, Narrow* x);

  /// Assigns activated (rows, intermediate), and kept = gate_up (rows, 2 intermediate), or (rows,
  /// intermediate) if not gated.
  void (*activate)(const ActivatedRows& op, const Narrow* gate_up, Narrow* kept, Narrow* activated);
  /// Assigns d_gate_up, and activated as activate does. d_activated may be activated.
  void (*activate_backward)(const ActivatedRows& op, const Narrow* gate_up,
                            const Narrow* d_activated, Narrow* d_gate_up, Narrow* activated);

  /// Assigns probabilities (queries, stride) = softmax(logits), 0 where not visible, up to kLanes;
  /// and log_sum_exp, `log_stride` apart. The scores are destroyed. Narrow = float: probabilities
  /// may be the scores.
  void (*softmax)(const ScoreBlock& op, Narrow* probabilities, float* log_sum_exp,
                  int64_t log_stride);
  /// Assigns probabilities again, by log_sum_exp, and d_narrow (queries, stride), the gradient of q
  /// k, from that of the probabilities, d_scores. means (queries) are the sums over the head of
  /// output times its gradient. Narrow = float: probabilities may be the scores and d_narrow
  /// d_scores.
  void (*softmax_backward)(const ScoreBlock& op, const float* d_scores, const float* means,
                           const float* log_sum_exp, int64_t log_stride, Narrow* probabilities,
                           Narrow* d_narrow);
  /// Assigns sums (rows): of x times y, rows of n that lie `stride` apart.
  void (*row_products)(const Narrow* x, const Narrow* y, int64_t rows, int n, int64_t stride,
                       float* sums);

  /// Assigns nll (rows) and gradient (rows, stride), that of the sum of nll. The logits are
  /// destroyed. Narrow = float: gradient may be the logits.
  void (*cross_entropy_gradient)(const LogitRows& op, Narrow* gradient, float* nll);
};

struct Kernels {
  const char* instruction_set = nullptr;
  NarrowKernels<float> to_float;
  NarrowKernels<Bf16> to_bf16;
  TileKernels tiles;

  /// d_weight (n) is added to; assigns dx (rows, n), which may be dy.
  void (*normalize_backward_assign)(const NormRows& op, const float* inverse_rms, const float* dy,
                                    float* dx, float* d_weight);

  /// Assigns nll (rows); logits are destroyed.
  void (*cross_entropy)(const LogitRows& op, float* nll);

  /// sizes (pairs) += |what a pair supplies to q k|, of all queries and the keys they see;
  /// scores (HeadScore::kCount) += those of backend.h.
  void (*add_statistics)(const StatisticsBlock& op, float* sizes, float* scores);
  /// sums (pairs) += the norms of the pairs of such rows.
  void (*add_norms)(const float* rows, int64_t count, int pairs, float* sums);

  void (*adamw)(const AdamWRows& op);
  double (*sum_of_squares)(const float* x, int64_t count);
  /// y = factor x, and y += factor x.
  void (*assign_scaled)(const float* x, float factor, int64_t count, float* y);
  void (*add_scaled)(const float* x, float factor, int64_t count, float* y);

  /// See matrix_product.h.
  void (*multiply)(const MatrixProduct<float, float>& product);
};

}  // namespace gyre::cpu

// Within this folder: each file fills in its part of the table of the instruction set it is
// compiled for.
#ifdef GYRE_INSTRUCTION_SET
namespace gyre::cpu::GYRE_INSTRUCTION_SET {
void AddConversion(Kernels* kernels);
void AddNorm(Kernels* kernels);
void AddRotation(Kernels* kernels);
void AddActivation(Kernels* kernels);
void AddSoftmax(Kernels* kernels);
void AddAttentionStatistics(Kernels* kernels);
void AddCrossEntropy(Kernels* kernels);
void AddFlat(Kernels* kernels);
void AddProduct(Kernels* kernels);
void AddTranspose(Kernels* kernels);
void AddTiles(Kernels* kernels);
void AddTileActivation(Kernels* kernels);
void AddTileAttention(Kernels* kernels);
}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
#endif
