// Attention of a strip of queries on tiles: 32 x 32 scores at a time, each block of which vector
// units see while the next one is multiplied. Nothing but a strip's scores lies between products,
// and of them what later products take is left as they take it.

#include "trainer/backend/cpu/kernels/kernels.h"
#include "trainer/backend/cpu/kernels/tile_block.h"
#include "trainer/backend/cpu/kernels/vector_math.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {

#ifndef __AMX_BF16__
void AddTileAttention(Kernels*) {}
#else
namespace {

constexpr int kBlockSize = kTileStrip * kTileStrip;

// Both registers as Narrowed gives them, a first.
[[gnu::always_inline]] inline Words NarrowedPair(Floats a, Floats b) {
  return __builtin_bit_cast(Words, _mm512_cvtne2ps_pbh(b, a));
}
[[gnu::always_inline]] inline void StoreLine(Floats a, Floats b, Bf16* line) {
  const Words words = NarrowedPair(a, b);
  __builtin_memcpy(static_cast<void*>(line), &words, sizeof(words));
}
// Number i of both: a word.
[[gnu::always_inline]] inline Words Interleaved(Floats even, Floats odd) {
  typedef uint16_t Numbers __attribute__((vector_size(64)));
  constexpr Numbers kOrder = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                              8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const Numbers numbers = __builtin_bit_cast(Numbers, NarrowedPair(even, odd));
  return __builtin_bit_cast(Words, __builtin_shuffle(numbers, kOrder));
}

[[gnu::always_inline]] inline LeftTiles Rows(const Bf16* rows, int64_t stride) {
  return {rows, 2 * stride, kLanes * stride, kTileDepth};
}
[[gnu::always_inline]] inline LeftTiles Packed(const Bf16* a) {
  return {a, 4 * kLanes, kTileSize, 2 * kTileSize};
}

// The scores of all queries of a strip and of the keys from `key` on.
template <bool kSloped>
struct Scores {
  Scores() = default;
  [[gnu::always_inline]] Scores(const QueryStrip& strip, int first_key, float* all)
      : first(strip.first),
        sums(all),
        key(first_key),
        last(strip.last),
        factor(strip.scale * kLog2E),
        slope(strip.slope * kLog2E),
        whole(first[kTileStrip - 1] <= key && key + kTileStrip - 1 <= last) {}

  [[gnu::always_inline]] Floats Load(int row, int column) const {
    return cpu::GYRE_INSTRUCTION_SET::Load(Whole{}, sums + row * kTileStrip + column);
  }
  // x where the query sees the keys, else `other`.
  [[gnu::always_inline]] Floats Seen(int row, int column, Floats x, Floats other) const {
    if (whole) return x;
    const Ints keys = Count() + (key + column);
    return (keys >= first[row]) & (keys <= last + row) ? x : other;
  }
  // log2(e) times the logit.
  [[gnu::always_inline]] Floats Logit(int row, int column, Floats score) const {
    if constexpr (!kSloped) return score * factor;
    const Ints distance = Count() + (key + column - last - row);
    return score * factor + slope * __builtin_convertvector(distance, Floats);
  }

  const int* first = nullptr;
  float* sums = nullptr;
  int key = 0, last = 0;
  float factor = 0, slope = 0;
  bool whole = true;
};

// Fetches the rows that a strip names, a few at a time.
class Fetcher {
 public:
  // `chances`: how often Some will be called.
  [[gnu::always_inline]] Fetcher(const QueryStrip& strip, int64_t chances)
      : strip_(strip), some_(static_cast<int>((kTileStrip + chances - 1) / chances)) {}
  [[gnu::always_inline]] void Some() {
    for (int i = 0; i < some_ && row_ < kTileStrip; ++i, ++row_) {
      for (const NextRows& rows : strip_.next) {
        if (rows.first == nullptr) break;
        const Bf16* const row = rows.first + row_ * rows.stride;
        for (int c = 0; c < strip_.head_dim; c += kTileDepth) __builtin_prefetch(row + c, 0, 2);
      }
    }
  }

 private:
  const QueryStrip& strip_;
  const int some_;
  int row_ = 0;
};

// Hides what a query does not see, and finds its largest logits, lane by lane.
template <bool kSloped>
struct LargestBlock {
  static constexpr int kSteps = kTileStrip;  // a row each

  [[gnu::always_inline]] void Step(int row) const {
    Floats most = largest[row];
    for (int column = 0; column < kTileStrip; column += kLanes) {
      Floats score = scores.Load(row, column);
      if (!scores.whole) {
        score = scores.Seen(row, column, score, Broadcast(-__builtin_inff()));
        Store(Whole{}, score, scores.sums + row * kTileStrip + column);
      }
      most = Larger(scores.Logit(row, column, score), most);
    }
    largest[row] = most;
  }

  Scores<kSloped> scores;
  Floats* largest = nullptr;
};

// Assigns probabilities (kTileStrip, keys), packed as an a, but for the factor 1 / sum.
template <bool kSloped>
[[gnu::always_inline]] inline void Powers(const AttendedStrip& op, const float* shifts,
                                          Floats* sums) {
  for (int key = 0; key < op.strip.keys; key += kTileStrip) {
    const Scores<kSloped> scores(op.strip, key, op.scores + key * kTileStrip);
    Bf16* const to = op.probabilities + key * kTileStrip;
    for (int row = 0; row < kTileStrip; ++row) {
      const float shift = shifts[row];
      const Floats a = Exp2(scores.Logit(row, 0, scores.Load(row, 0)) - shift);
      const Floats b = Exp2(scores.Logit(row, kLanes, scores.Load(row, kLanes)) - shift);
      StoreLine(a, b, to + RowInTiles(row));
      sums[row] += a + b;
    }
  }
}

template <bool kSloped>
[[gnu::flatten]] void AttendStrip(const AttendedStrip& op) {
  const QueryStrip& strip = op.strip;
  Floats largest[kTileStrip], sums[kTileStrip];
  for (int row = 0; row < kTileStrip; ++row) {
    largest[row] = Broadcast(-__builtin_inff()), sums[row] = Floats{};
  }
  Configure(kTileStrip);
  const int64_t chances = strip.head_dim / kTileDepth;
  Rest<LargestBlock<kSloped> > rest(chances);
  Fetcher fetcher(strip, chances * (strip.keys / kTileStrip + 1));
  const auto meanwhile = [&] {
    rest.Some();
    fetcher.Some();
  };
  for (int key = 0; key < strip.keys; key += kTileStrip) {
    float* const scores = op.scores + key * kTileStrip;
    Start<2, 2>(nullptr, 0);
    Accumulate<2, 2>(strip.head_dim, Rows(strip.queries, strip.stride),
                     strip.key_columns + int64_t{key} * strip.head_dim, meanwhile);
    StoreTiles<2, 2>(scores, kTileStrip);
    rest.Start({{strip, key, scores}, largest});
  }
  for (int64_t i = 0; i < chances; ++i) meanwhile();
  float shifts[kTileStrip], totals[kTileStrip];
  for (int row = 0; row < kTileStrip; ++row) shifts[row] = LargestLane(largest[row]);
  Powers<kSloped>(op, shifts, sums);
  for (int row = 0; row < kTileStrip; ++row) totals[row] = SumOfLanes(sums[row]);
  for (int column = 0; column < strip.head_dim; column += kTileStrip) {
    alignas(64) float products[kBlockSize];
    Start<2, 2>(nullptr, 0);
    Accumulate<2, 2>(strip.keys, Packed(op.probabilities), op.value_rows + column * op.depth,
                     [] {});
    StoreTiles<2, 2>(products, kTileStrip);
    for (int row = 0; row < kTileStrip; ++row) {
      const float inverse = 1 / totals[row];
      const float* const from = products + row * kTileStrip;
      StoreLine(Load(Whole{}, from) * inverse, Load(Whole{}, from + kLanes) * inverse,
                op.output + row * op.output_stride + column);
    }
  }
  _tile_release();
  for (int first = 0; first < kTileStrip; first += kWidth) {
    const Floats logs = Load(Whole{}, shifts + first) * kLn2 + Log(Load(Whole{}, totals + first));
    for (int i = 0; i < kWidth; ++i) strip.log_sum_exp[(first + i) * strip.log_stride] = logs[i];
  }
}

// Of each query of a strip.
struct RowFactors {
  float log_sum[kTileStrip], mean[kTileStrip];
};

template <bool kSloped>
struct GradientBlock {
  static constexpr int kPairs = kTileStrip / 2;
  static constexpr int kSteps = kPairs + 4;  // two rows each, then a square to transpose

  struct Row {
    Floats p, d;
  };
  [[gnu::always_inline]] Row Of(int row, int column) const {
    const Floats score = scores.Load(row, column);
    const Floats d = Load(Whole{}, d_probabilities + row * kTileStrip + column);
    const Floats p = Exp2(scores.Logit(row, column, score) - rows->log_sum[row]);
    const Floats change = p * (d * scale - rows->mean[row]);
    return {scores.Seen(row, column, p, Floats{}), scores.Seen(row, column, change, Floats{})};
  }
  [[gnu::always_inline]] void Step(int step) const {
    if (step >= kPairs) return Transpose(step - kPairs);
    const int even = 2 * step, odd = even + 1;
    const Row a = Of(even, 0), b = Of(odd, 0);
    pairs[step] = Interleaved(a.p, b.p);
    pairs[2 * kPairs + step] = Interleaved(a.d, b.d);
    const Row c = Of(even, kLanes), d = Of(odd, kLanes);
    pairs[kPairs + step] = Interleaved(c.p, d.p);
    pairs[3 * kPairs + step] = Interleaved(c.d, d.d);
    StoreLine(a.d, c.d, d_rows + RowInTiles(even));
    StoreLine(b.d, d.d, d_rows + RowInTiles(odd));
  }
  [[gnu::always_inline]] void Transpose(int square) const {
    Words words[kPairs];
#pragma GCC unroll 16
    for (int i = 0; i < kPairs; ++i) words[i] = pairs[square * kPairs + i];
    TransposeFrom<1>(words);
    StoreTile(words, (square < 2 ? p_transposed : d_transposed) + square % 2 * kTileSize);
  }

  Scores<kSloped> scores;
  const float* d_probabilities = nullptr;
  const RowFactors* rows = nullptr;
  float scale = 0;
  Words* pairs = nullptr;  // (probabilities and gradients, halves, kPairs): two rows a word
  Bf16 *d_rows = nullptr, *p_transposed = nullptr, *d_transposed = nullptr;
};

template <bool kSloped>
[[gnu::flatten]] void AttendStripBackward(const StripGradient& op) {
  const QueryStrip& strip = op.strip;
  // Of two blocks: one is multiplied while the other is looked at.
  alignas(64) float scores[2][kBlockSize], d_probabilities[2][kBlockSize];
  alignas(64) Words pairs[4 * GradientBlock<kSloped>::kPairs];
  RowFactors rows;
  for (int i = 0; i < kTileStrip; ++i) {
    rows.log_sum[i] = strip.log_sum_exp[i * strip.log_stride] * kLog2E;
    rows.mean[i] = op.means[i] * strip.scale;
  }
  Configure(kTileStrip);
  const int64_t chances = 2 * strip.head_dim / kTileDepth;
  Rest<GradientBlock<kSloped> > rest(chances);
  Fetcher fetcher(strip, chances * (strip.keys / kTileStrip + 1));
  const auto meanwhile = [&] {
    rest.Some();
    fetcher.Some();
  };
  for (int key = 0; key < strip.keys; key += kTileStrip) {
    const int turn = key / kTileStrip % 2;
    const int64_t columns = int64_t{key} * strip.head_dim;
    Start<2, 2>(nullptr, 0);
    Accumulate<2, 2>(strip.head_dim, Rows(strip.queries, strip.stride), strip.key_columns + columns,
                     meanwhile);
    StoreTiles<2, 2>(scores[turn], kTileStrip);
    Start<2, 2>(nullptr, 0);
    Accumulate<2, 2>(strip.head_dim, Rows(op.d_output, op.output_stride),
                     op.value_columns + columns, meanwhile);
    StoreTiles<2, 2>(d_probabilities[turn], kTileStrip);
    const int64_t to = key * op.depth + op.at * kTileStrip;
    rest.Start({{strip, key, scores[turn]},
                d_probabilities[turn],
                &rows,
                strip.scale,
                pairs,
                op.d_scores + key * kTileStrip,
                op.probabilities_transposed + to,
                op.d_transposed + to});
  }
  for (int64_t i = 0; i < chances; ++i) meanwhile();
  for (int column = 0; column < strip.head_dim; column += kTileStrip) {
    Start<2, 2>(nullptr, 0);
    Accumulate<2, 2>(strip.keys, Packed(op.d_scores), op.key_rows + column * op.key_depth, [] {});
    StoreTiles<2, 2>(scores[0], kTileStrip);
    for (int row = 0; row < kTileStrip; ++row) {
      const float* const from = scores[0] + row * kTileStrip;
      StoreLine(Load(Whole{}, from), Load(Whole{}, from + kLanes),
                op.d_queries + row * strip.stride + column);
    }
  }
  _tile_release();
}

void Attend(const AttendedStrip& op) {
  (op.strip.slope == 0 ? AttendStrip<false> : AttendStrip<true>)(op);
}
void AttendBackward(const StripGradient& op) {
  (op.strip.slope == 0 ? AttendStripBackward<false> : AttendStripBackward<true>)(op);
}

}  // namespace

void AddTileAttention(Kernels* kernels) {
  kernels->tiles.attend = Attend;
  kernels->tiles.attend_backward = AttendBackward;
}
#endif

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
