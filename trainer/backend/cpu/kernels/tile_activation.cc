// The products before an activation, forward and backward, and the activation of each block of 32 x
// 32 numbers while the next block is multiplied: tiles and vector units work side by side.

#include "trainer/backend/cpu/kernels/activation.h"
#include "trainer/backend/cpu/kernels/tile_block.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {

#ifndef __AMX_BF16__
void AddTileActivation(Kernels*) {}
#else
namespace {

// Sums of a block, of gate and of up.
struct BlockSums {
  alignas(64) float half[2][kTileStrip * kTileStrip];
};

// 16 numbers where a row's part of a block begins, and 16 more.
[[gnu::always_inline]] inline Floats Sums(const float* sums, int row, int column) {
  return Load(Whole{}, sums + row * kTileStrip + column);
}
[[gnu::always_inline]] inline void Put(Halves x, Bf16* p) {
  __builtin_memcpy(static_cast<void*>(p), &x, sizeof(x));
}
// Row and column of a block begin at multiples of kTileStrip: of an a that is packed (rows,
// columns) or, with columns for rows, of a b.
[[gnu::always_inline]] inline int64_t BlockInTiles(int64_t row, int64_t column, int64_t columns) {
  return row * columns + column * kTileStrip;
}

template <typename A, bool kGated, bool kFar>
struct ActivatedBlock {
  static constexpr int kSteps = kTileStrip;  // a row each

  const BlockSums* sums = nullptr;
  Bf16 *kept_gate = nullptr, *kept_up = nullptr, *activations = nullptr;
  int64_t width = 0;

  [[gnu::always_inline]] static void Keep(Halves x, Bf16* p) {
    kFar ? _mm256_stream_si256(reinterpret_cast<__m256i*>(p), __builtin_bit_cast(__m256i, x))
         : Put(x, p);
  }
  [[gnu::always_inline]] void Step(int row) const {
    for (int column = 0; column < kTileStrip; column += kLanes) {
      const int64_t to = row * width + column;
      const Halves z = Narrowed(Sums(sums->half[0], row, column));
      Keep(z, kept_gate + to);
      Floats active = Active<A>(Widened(z));
      if constexpr (kGated) {
        const Halves u = Narrowed(Sums(sums->half[1], row, column));
        Keep(u, kept_up + to);
        active *= Widened(u);
      }
      Store(Whole{}, active, activations + RowInTiles(row) + column);
    }
  }
};

template <typename A, bool kGated>
struct GradientBlock {
  static constexpr int kHalves = kGated ? 2 : 1;
  static constexpr int kPairs = kTileStrip / 2;
  static constexpr int kSteps = kPairs + 2 * kHalves;  // two rows each, then a square to transpose

  const BlockSums* sums = nullptr;
  Words* pairs = nullptr;  // (halves, 2, kPairs): d_gate_up, two rows a word
  const Bf16 *gate = nullptr, *up = nullptr;
  int64_t width = 0;
  Bf16 *d_gate = nullptr, *d_up = nullptr, *activations = nullptr;
  Bf16 *d_gate_transposed = nullptr, *d_up_transposed = nullptr;

  struct Row {
    Halves d_gate, d_up, active;
  };
  [[gnu::always_inline]] Row Of(int row, int column) const {
    const int64_t from = row * width + column;
    const Floats d = Sums(sums->half[0], row, column);
    const auto [active, slope] = ActiveAndSlope<A>(Load(Whole{}, gate + from));
    if constexpr (kGated) {
      const Floats u = Load(Whole{}, up + from);
      return {Narrowed(d * u * slope), Narrowed(d * active), Narrowed(active * u)};
    } else {
      return {Narrowed(d * slope), Halves{}, Narrowed(active)};
    }
  }
  [[gnu::always_inline]] static Words Pair(Halves even, Halves odd) {
    return Extended(even) | (Extended(odd) << 16);
  }
  [[gnu::always_inline]] void Step(int step) const {
    if (step >= kPairs) return Transpose(step - kPairs);
    for (int half = 0; half < 2; ++half) {
      const int even = 2 * step, odd = even + 1, column = half * kLanes;
      const Row a = Of(even, column), b = Of(odd, column);
      *reinterpret_cast<Words*>(activations + half * kTileSize + step * kTileDepth) =
          Pair(a.active, b.active);
      Put(a.d_gate, d_gate + RowInTiles(even) + column);
      Put(b.d_gate, d_gate + RowInTiles(odd) + column);
      pairs[half * kPairs + step] = Pair(a.d_gate, b.d_gate);
      if constexpr (kGated) {
        Put(a.d_up, d_up + RowInTiles(even) + column);
        Put(b.d_up, d_up + RowInTiles(odd) + column);
        pairs[(2 + half) * kPairs + step] = Pair(a.d_up, b.d_up);
      }
    }
  }
  [[gnu::always_inline]] void Transpose(int square) const {
    Words words[kPairs];
#pragma GCC unroll 16
    for (int i = 0; i < kPairs; ++i) words[i] = pairs[square * kPairs + i];
    TransposeFrom<1>(words);
    StoreTile(words, (square < 2 ? d_gate_transposed : d_up_transposed) + square % 2 * kTileSize);
  }
};

// Lines of kept numbers that the next block of gradients is made of.
struct FarLines {
  const Bf16 *gate = nullptr, *up = nullptr;
  int64_t width = 0;
  int rows = 0;

  template <bool kGated>
  [[gnu::always_inline]] void Fetch() {
    for (int i = 0; i < 4 && rows > 0; ++i, --rows, gate += width, up += width) {
      __builtin_prefetch(gate, 0, 3);
      if constexpr (kGated) __builtin_prefetch(up, 0, 3);
    }
  }
};

// This block's share of the columns of b that will be needed after the present ones.
[[gnu::always_inline]] inline FarRows ShareOfNext(const Bf16* next, int64_t k, int64_t row,
                                                  int64_t rows) {
  constexpr int64_t kRow = 2 * 64 / sizeof(Bf16);
  const int64_t lines = k * kTileStrip / kRow;
  const int64_t from = lines * row / rows, to = lines * (row + kTileStrip) / rows;
  return {reinterpret_cast<const char*>(next + from * kRow), 128, to - from};
}

[[gnu::always_inline]] inline LeftTiles RowsOfA(const Bf16* a, int64_t row, int64_t k) {
  return {a + row * k, 2 * k, kLanes * k, kTileDepth};
}

// Calls block(row, column) for all blocks: strips of b go by, or, where b stays in the second
// cache, strips of a.
template <typename Block>
[[gnu::always_inline]] inline void ForBlocks(int64_t rows, int64_t columns, bool b_is_far,
                                             const Block& block) {
  if (b_is_far) {
    for (int64_t column = 0; column < columns; column += kTileStrip) {
      for (int64_t row = 0; row < rows; row += kTileStrip) block(row, column);
    }
  } else {
    for (int64_t row = 0; row < rows; row += kTileStrip) {
      for (int64_t column = 0; column < columns; column += kTileStrip) block(row, column);
    }
  }
}

template <typename A, bool kGated, bool kFar>
[[gnu::flatten]] void Activate(const ActivatedProduct& p) {
  constexpr int kHalves = kGated ? 2 : 1;
  const int64_t n = p.activated.intermediate, width = kHalves * n, rows = p.activated.rows;
  BlockSums sums[2];
  Rest<ActivatedBlock<A, kGated, kFar> > rest(kHalves * p.k / kTileDepth);
  Configure(kTileStrip);
  const bool b_is_far = BIsFar(p.k, width);
  int turn = 0;
  ForBlocks(rows, n, b_is_far, [&](int64_t row, int64_t column) {
    for (int half = 0; half < kHalves; ++half) {
      const Bf16* const b = p.b + (half * n + column) * p.k;
      FarRows next;
      if (b_is_far && column + kTileStrip < n)
        next = ShareOfNext(b + kTileStrip * p.k, p.k, row, rows);
      Start<2, 2>(nullptr, 0);
      Accumulate<2, 2>(p.k, RowsOfA(p.a, row, p.k), b, [&] {
        next.Fetch<false>();
        rest.Some();
      });
      StoreTiles<2, 2>(sums[turn].half[half], kTileStrip);
    }
    Bf16* const kept = p.kept + row * width + column;
    rest.Start({&sums[turn], kept, kept + n, p.activations + BlockInTiles(row, column, n), width});
    turn ^= 1;
  });
  for (int64_t i = 0; i < kHalves * p.k / kTileDepth; ++i) rest.Some();
  _tile_release();
}

template <typename A, bool kGated>
[[gnu::flatten]] void ActivateBackward(const ActivatedGradient& p) {
  constexpr int kHalves = kGated ? 2 : 1;
  using Block = GradientBlock<A, kGated>;
  const int64_t n = p.activated.intermediate, width = kHalves * n, rows = p.activated.rows;
  BlockSums sums[2];
  alignas(64) Words pairs[kHalves * 2 * Block::kPairs];
  Rest<Block> rest(p.k / kTileDepth);
  Configure(kTileStrip);
  int turn = 0;
  ForBlocks(rows, n, true, [&](int64_t row, int64_t column) {
    const Bf16* const b = p.b + column * p.k;
    const Bf16* const kept = p.kept + row * width + column;
    FarLines lines{kept, kept + (kGated ? n : 0), width, kTileStrip};
    FarRows next;
    if (column + kTileStrip < n) next = ShareOfNext(b + kTileStrip * p.k, p.k, row, rows);
    Start<2, 2>(nullptr, 0);
    Accumulate<2, 2>(p.k, RowsOfA(p.a, row, p.k), b, [&] {
      next.Fetch<false>();
      lines.Fetch<kGated>();
      rest.Some();
    });
    StoreTiles<2, 2>(sums[turn].half[0], kTileStrip);
    Bf16* const d_gate = p.d_gate_up + BlockInTiles(row, column, width);
    Bf16* const transposed = p.d_transposed + BlockInTiles(column, p.at + row, p.depth);
    rest.Start({.sums = &sums[turn],
                .pairs = pairs,
                .gate = kept,
                .up = kept + (kGated ? n : 0),
                .width = width,
                .d_gate = d_gate,
                .d_up = d_gate + n * kTileStrip,
                .activations = p.activations + BlockInTiles(column, p.at + row, p.depth),
                .d_gate_transposed = transposed,
                .d_up_transposed = transposed + n * p.depth});
    turn ^= 1;
  });
  for (int64_t i = 0; i < p.k / kTileDepth; ++i) rest.Some();
  _tile_release();
}

template <typename A, bool kGated>
void ActivateNearOrFar(const ActivatedProduct& p) {
  const bool aligned = reinterpret_cast<uintptr_t>(p.kept) % sizeof(Halves) == 0;
  (p.activated.far && aligned ? Activate<A, kGated, true> : Activate<A, kGated, false>)(p);
}

void ActivateAny(const ActivatedProduct& p) {
  const bool silu = p.activated.activation == Activation::kSilu;
  (p.activated.gated
       ? (silu ? ActivateNearOrFar<Silu, true> : ActivateNearOrFar<GeluTanh, true>)
       : (silu ? ActivateNearOrFar<Silu, false> : ActivateNearOrFar<GeluTanh, false>))(p);
}

void ActivateBackwardAny(const ActivatedGradient& p) {
  const bool silu = p.activated.activation == Activation::kSilu;
  (p.activated.gated
       ? (silu ? ActivateBackward<Silu, true> : ActivateBackward<GeluTanh, true>)
       : (silu ? ActivateBackward<Silu, false> : ActivateBackward<GeluTanh, false>))(p);
}

}  // namespace

void AddTileActivation(Kernels* kernels) {
  kernels->tiles.activate = ActivateAny;
  kernels->tiles.activate_backward = ActivateBackwardAny;
}
#endif

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
