#pragma once

// What each family of operations takes from the workspace. Rows of a shared piece are divided among
// the threads; `rows` is what all of them work on at a time.

#include <type_traits>

#include "trainer/backend/cpu/workspace.h"

namespace gyre::cpu {

inline int64_t RoundUp(int64_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

/// What each operation's pieces depend on.
inline WorkspaceShape Shape(const NormQkv& op) {
  return {.hidden = op.hidden, .heads = op.heads, .kv_heads = op.kv_heads, .head_dim = op.head_dim};
}
inline WorkspaceShape Shape(const Attention& op) {
  return {.length = op.length, .head_dim = op.head_dim};
}
inline WorkspaceShape Shape(const Mlp& op) {
  return {.hidden = op.hidden, .intermediate = op.intermediate};
}
inline WorkspaceShape Shape(const LinearCrossEntropy& op) {
  return {.hidden = op.hidden, .vocab = op.vocab};
}

/// y = norm(x) W^T and what belongs to it.
template <typename Narrow>
struct QkvScratch {
  QkvScratch(Carver carver, const WorkspaceShape& shape, int threads) {
    const int64_t width = int64_t{shape.heads + 2 * shape.kv_heads} * shape.head_dim;
    const int64_t rows = threads * kBlockRows<Narrow>;
    weight = carver.Take<Narrow>(
        std::max(PackedSize(width, shape.hidden), PackedSize(shape.hidden, width)));
    normed = carver.Take<Narrow>(rows * shape.hidden);
    if constexpr (std::is_same_v<Narrow, Bf16>) {
      own_normed = {&carver, threads, kRowsPerThread<Narrow> * shape.hidden};
    }
    d_normed = {&carver, threads, kRowsPerThread<Narrow> * shape.hidden};
    raw = {&carver, threads, kRowsPerThread<Narrow> * width};
    d_transposed = carver.Take<Narrow>(rows * width);
    sums = {&carver, threads, shape.hidden + 2 * shape.head_dim};
    heads = {&carver, threads, width};
    size = carver.size();
  }
  Narrow* weight;                  // packed
  Narrow* normed;                  // (rows, C)
  PerThread<Narrow> own_normed;    // (kRowsPerThread, C), as gradients by tiles need it
  PerThread<float> d_normed, raw;  // (kRowsPerThread, C), (kRowsPerThread, (H + 2K) d)
  Narrow* d_transposed;            // ((H + 2K) d, rows)
  PerThread<float> sums;           // (C + 2d): gradients of norms
  PerThread<float> heads;          // ((H + 2K) d)
  int64_t size = 0;
};

template <typename Narrow>
struct LinearScratch {
  LinearScratch(Carver carver, int inputs, int outputs, int threads) {
    weight =
        carver.Take<Narrow>(std::max(PackedSize(inputs, outputs), PackedSize(outputs, inputs)));
    dy = {&carver, threads, kRowsPerThread<Narrow> * outputs};
    dy_transposed = carver.Take<Narrow>(threads * kBlockRows<Narrow> * outputs);
    if constexpr (std::is_same_v<Narrow, Bf16>) {
      x = carver.Take<Narrow>(threads * kBlockRows<Narrow> * inputs);
    }
    size = carver.size();
  }
  Narrow* weight;         // packed
  PerThread<Narrow> dy;   // (kRowsPerThread, outputs)
  Narrow* dy_transposed;  // (outputs, rows)
  Narrow* x = nullptr;    // (rows, inputs), for gradients by tiles
  int64_t size = 0;
};

template <typename Narrow>
struct MlpScratch {
  MlpScratch(Carver carver, const WorkspaceShape& shape, int threads) {
    const int64_t rows = threads * kBlockRows<Narrow>;
    weight = carver.Take<Narrow>(std::max(PackedSize(shape.hidden, 2 * shape.intermediate),
                                          PackedSize(2 * shape.intermediate, shape.hidden)));
    down = carver.Take<Narrow>(std::max(PackedSize(shape.hidden, shape.intermediate),
                                        PackedSize(shape.intermediate, shape.hidden)));
    normed = carver.Take<Narrow>(rows * shape.hidden);
    dy = {&carver, threads, kRowsPerThread<Narrow> * shape.hidden};
    activated = carver.Take<Narrow>(rows * shape.intermediate);
    if constexpr (std::is_same_v<Narrow, Bf16>) {
      own_activated = {&carver, threads, kRowsPerThread<Narrow> * shape.intermediate};
    }
    dy_transposed = carver.Take<Narrow>(rows * shape.hidden);
    gate_up = {&carver, threads, kRowsPerThread<Narrow> * 2 * shape.intermediate};
    d_gate_up_transposed = carver.Take<Narrow>(rows * 2 * shape.intermediate);
    d_normed = {&carver, threads, kRowsPerThread<Narrow> * shape.hidden};
    sums = {&carver, threads, shape.hidden};
    size = carver.size();
  }
  Narrow *weight, *down;                         // packed
  Narrow* normed;                                // (rows, C)
  PerThread<Narrow> dy;                          // (kRowsPerThread, C)
  Narrow* activated;                             // (rows, I)
  PerThread<Narrow> own_activated;               // (kRowsPerThread, I), for gradients by tiles
  PerThread<Narrow> gate_up;                     // (kRowsPerThread, 2I): or its gradient
  Narrow *dy_transposed, *d_gate_up_transposed;  // (C, rows), (2I, rows)
  PerThread<float> d_normed;                     // (kRowsPerThread, C)
  PerThread<float> sums;                         // (C)
  int64_t size = 0;
};

inline constexpr int kMostInGroup = 512;

/// From one query's scores to the next one's, of blocks that see this many keys of a row: no power
/// of two, with which all rows would lie in the same sets of a cache.
inline int64_t ScoreStride(int keys, int length) {
  return keys <= kKeyBlock ? RoundUp(keys) : RoundUp(length) + kKeyBlock + kLanes;
}

/// Attention by tiles leaves probabilities and scores' gradients of so many queries for the
/// products that give gradients of keys and values: as many as stay in the second cache.
inline int QueryGroup(int length) {
  constexpr int kNumbers = 1 << 18;
  return std::clamp(kNumbers / std::max(length, 1) / kTileStrip * kTileStrip, kQueryBlock<Bf16>,
                    kMostInGroup);
}

template <typename Narrow>
struct AttentionScratch {
  AttentionScratch(Carver carver, const WorkspaceShape& shape, int threads) {
    const int64_t block = kQueryBlock<Narrow> * (RoundUp(shape.length) + kKeyBlock + kLanes);
    const int64_t head = int64_t{shape.length} * shape.head_dim;
    scores = {&carver, threads, block};
    d_scores = {&carver, threads, block};
    if constexpr (std::is_same_v<Narrow, float>) {
      probabilities = scores, d_narrow = d_scores;
    } else {
      probabilities = {&carver, threads, block};
      d_narrow = {&carver, threads, block};
    }
    d_keys = {&carver, threads, head};
    d_values = {&carver, threads, head};
    queries = {&carver, threads, int64_t{kQueryBlock<Narrow>} * shape.head_dim};
    means = {&carver, threads, kQueryBlock<Narrow>};
    for (PerThread<Narrow>* piece : {&head_queries, &head_keys, &head_values, &d_output}) {
      *piece = {&carver, threads, head};
    }
    if constexpr (std::is_same_v<Narrow, Bf16>) {
      key_rows = {&carver, threads, head};
      const int64_t group = int64_t{shape.length} * QueryGroup(shape.length);
      p_transposed = {&carver, threads, group};
      d_transposed = {&carver, threads, group};
    }
    size = carver.size();
  }
  PerThread<float> scores, d_scores;                                 // (kQueryBlock, ScoreStride)
  PerThread<Narrow> probabilities, d_narrow;                         // as scores
  PerThread<float> d_keys, d_values;                                 // (T, d)
  PerThread<float> queries;                                          // (kQueryBlock, d)
  PerThread<float> means;                                            // (kQueryBlock)
  PerThread<Narrow> head_queries, head_keys, head_values, d_output;  // (T, d)
  PerThread<Narrow> key_rows;                                        // (T, d), for tiles
  PerThread<Narrow> p_transposed, d_transposed;                      // (T, QueryGroup), for tiles
  int64_t size = 0;
};

/// Pairs of a head in a row of registers.
inline int PairLanes(int head_dim) { return static_cast<int>(RoundUp(head_dim / 2)); }

/// Coordinates from .. from + count - 1 of a head go to place `to` and on of one laid out by pairs.
struct PairCopy {
  int from = 0, to = 0, count = 0;
};

/// Of attention's statistics; never more than attention itself takes.
struct StatisticsScratch {
  StatisticsScratch(Carver carver, const WorkspaceShape& shape, int threads) {
    const int64_t pairs = PairLanes(shape.head_dim);
    queries = {&carver, threads, 2 * pairs * shape.length};
    keys = {&carver, threads, 2 * pairs * shape.length};
    copies = carver.Take<PairCopy>(shape.head_dim);
    sums = {&carver, threads, pairs};
    first = {&carver, threads, pairs};
    others = {&carver, threads, pairs};
    size = carver.size();
  }
  PerThread<float> queries, keys;  // (T, 2 pairs): first coordinates of a head's pairs, second ones
  PairCopy* copies;                // (d) at most
  PerThread<float> sums;           // (pairs), of a block
  PerThread<double> first, others;  // (pairs)
  int64_t size = 0;
};

/// Rows of logits that a thread works on at a time.
inline int64_t LogitRowsPerThread(int vocab) {
  constexpr int64_t kLogits = int64_t{1} << 20, kFewest = 64;
  return std::clamp(kLogits / std::max(vocab, 1), kFewest, kRowsPerThread<Narrow>);
}

template <typename Narrow>
struct CrossEntropyScratch {
  CrossEntropyScratch(Carver carver, const WorkspaceShape& shape, int threads) {
    const int64_t rows = threads * kBlockRows<Narrow>;
    const int64_t logit_count = threads * LogitRowsPerThread(shape.vocab) * RoundUp(shape.vocab);
    if (shape.vocab % kLanes != 0) {
      padded = carver.Take<float>(RoundUp(shape.vocab) * shape.hidden);
    }
    forward = carver.Take<Narrow>(PackedSize(shape.hidden, RoundUp(shape.vocab)));
    backward = carver.Take<Narrow>(PackedSize(RoundUp(shape.vocab), shape.hidden));
    x = carver.Take<Narrow>(rows * shape.hidden);
    if constexpr (std::is_same_v<Narrow, Bf16>) {
      packed_x = carver.Take<Narrow>(rows * shape.hidden);
    }
    d_transposed = carver.Take<Narrow>(logit_count);
    logits = carver.Take<float>(logit_count);
    if constexpr (std::is_same_v<Narrow, float>) {
      d_logits = logits;
    } else {
      d_logits = carver.Take<Narrow>(logit_count);
    }
    size = carver.size();
  }
  float* padded = nullptr;     // (RoundUp(V), C), or none: the weights are as good
  Narrow *forward, *backward;  // packed
  Narrow* x;                   // (rows, C)
  Narrow* packed_x = nullptr;  // (rows, C), for gradients by tiles
  float* logits;               // (rows, RoundUp(V))
  Narrow* d_logits;            // as logits
  Narrow* d_transposed;        // (RoundUp(V), rows)
  int64_t size = 0;
};

struct NormScratch {
  NormScratch(Carver carver, int hidden, int threads) : sums(&carver, threads, hidden) {
    size = carver.size();
  }
  PerThread<float> sums;
  int64_t size = 0;
};

struct Norm2Scratch {
  Norm2Scratch(Carver carver, int threads) : totals(&carver, threads, 1) { size = carver.size(); }
  PerThread<double> totals;
  int64_t size = 0;
};

}  // namespace gyre::cpu
