// Products of Bf16 on tiles. b stays in the second cache while strips of a go by, each of which
// stays in the first one meanwhile; or the other way round, where b is large.

#include "trainer/backend/cpu/kernels/tile_block.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {

#ifndef __AMX_BF16__
void AddTiles(Kernels*) {}
#else
namespace {

// As LoadWords, of floats.
[[gnu::always_inline]] inline Words LoadPair(const Bf16* x, int row, int64_t stride) {
  return LoadWords(x, row, stride);
}
[[gnu::always_inline]] inline Words LoadPair(const float* x, int row, int64_t stride) {
  const Halves even = Narrowed(Load(Whole{}, x + 2 * row * stride));
  const Halves odd = Narrowed(Load(Whole{}, x + (2 * row + 1) * stride));
  return Extended(even) | (Extended(odd) << 16);
}
// kTileDepth numbers of one row, two a word.
[[gnu::always_inline]] inline Words LoadDepth(const Bf16* x) {
  return *reinterpret_cast<const Words*>(x);
}
[[gnu::always_inline]] inline Words LoadDepth(const float* x) {
  return __builtin_bit_cast(
      Words, _mm512_cvtne2ps_pbh(Load(Whole{}, x + kLanes), Load(Whole{}, x)));  // as Narrowed
}

template <bool kTransposed, typename In>
[[gnu::flatten]] void PackRows(const In* x, int64_t stride, int64_t rows, int64_t columns,
                               int64_t at, int64_t depth, Bf16* tiles) {
  for (int64_t row = 0; row < rows; row += kTileDepth) {
    for (int64_t column = 0; column < columns; column += kLanes) {
      Words words[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) words[i] = LoadPair(x + row * stride + column, i, stride);
      if constexpr (kTransposed) TransposeFrom<1>(words);
      StoreTile(words, TileAt(tiles, column, columns, at + row, depth));
    }
  }
}

template <typename In>
[[gnu::flatten]] void PackColumns(const In* x, int64_t stride, int64_t rows, int64_t columns,
                                  Bf16* tiles) {
  for (int64_t row = 0; row < rows; row += kLanes) {
    for (int64_t column = 0; column < columns; column += kTileDepth) {
      Words words[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) words[i] = LoadDepth(x + (row + i) * stride + column);
      TransposeFrom<1>(words);
      StoreTile(words, TileAt(tiles, row, rows, column, columns));
    }
  }
}

// What one block of c is made of: `rows` rows of it and of a, which with the columns of b start
// here.
struct BlockOperands {
  LeftTiles a;
  const Bf16* b;
  const float* addend;  // or none
  FetchedNext next;
  int64_t k;
  int rows;
};

template <int kHigh, int kWide>
void Multiply(const BlockOperands& block, float* c, int64_t stride) {
  Start<kHigh, kWide>(block.addend, stride);
  FetchedNext next = block.next;
  Accumulate<kHigh, kWide>(block.k, block.a, block.b, [&] { next.Fetch(); });
  StoreTiles<kHigh, kWide>(c, stride);
}
template <int kHigh, int kWide>
void Multiply(const BlockOperands& block, Bf16* c, int64_t stride) {
  Start<kHigh, kWide>(nullptr, 0);
  FetchedNext next = block.next;
  Accumulate<kHigh, kWide>(block.k, block.a, block.b, [&] { next.Fetch(); });
  alignas(64) float sums[kTileStrip * kTileStrip];
  StoreTiles<kHigh, kWide>(sums, kTileStrip);
  for (int row = 0; row < block.rows; ++row) {
    for (int column = 0; column < kWide * kLanes; column += kLanes) {
      Store(Whole{}, Load(Whole{}, sums + row * kTileStrip + column), c + row * stride + column);
    }
  }
}

// The block of c at `row` and `column`, where k is from `depth` on; `next` is fetched meanwhile.
template <int kHigh, typename Out>
void MultiplyBlock(const TileProduct<Out>& p, int64_t row, int64_t column, int64_t depth, int64_t k,
                   FetchedNext next) {
  const bool packed = p.a_stride == 0;
  BlockOperands block;
  block.a =
      packed ? LeftTiles{p.a + row * p.k, 4 * kLanes, kTileSize, kHigh * kTileSize}
             : LeftTiles{p.a + row * p.a_stride, 2 * p.a_stride, kLanes * p.a_stride, kTileDepth};
  block.a.first += depth / kTileDepth * block.a.step;
  block.k = k, block.rows = static_cast<int>(p.m - row < kTileStrip ? p.m - row : kTileStrip);
  const float* addend = p.addend;
  if constexpr (sizeof(Out) == sizeof(float)) {
    if (depth > 0) addend = p.c;
  }
  const int64_t at = row * p.c_stride + column;
  block.addend = addend == nullptr ? nullptr : addend + at;
  block.next = next;
  block.b = p.b + column * (p.b_depth == 0 ? p.k : p.b_depth);
  if (p.n - column > kLanes) {
    block.b += depth * kTileStrip;
    Multiply<kHigh, 2>(block, p.c + at, p.c_stride);
  } else {
    block.b += depth * kLanes;
    Multiply<kHigh, 1>(block, p.c + at, p.c_stride);
  }
}

template <typename Out>
void MultiplyBlock(const TileProduct<Out>& p, int64_t row, int64_t column, int64_t depth, int64_t k,
                   FetchedNext next) {
  if (p.m - row > kLanes) {
    MultiplyBlock<2>(p, row, column, depth, k, next);
  } else {
    MultiplyBlock<1>(p, row, column, depth, k, next);
  }
}

// So much of 32 rows of a and of 32 columns of b stays in the first cache.
constexpr int64_t kNear = 256;

// Strips of b go by, the next one of which is fetched.
template <typename Out>
void MultiplyByColumns(const TileProduct<Out>& p, int64_t most) {
  const int64_t blocks = p.m / kTileStrip, b_depth = p.b_depth == 0 ? p.k : p.b_depth;
  constexpr int64_t kRow = 2 * 64 / sizeof(Bf16);
  for (int64_t column = 0; column < p.n; column += kTileStrip) {
    const bool last = column + kTileStrip >= p.n;
    for (int64_t depth = 0; depth < p.k; depth += most) {
      const int64_t k = p.k - depth < most ? p.k - depth : most;
      const Bf16* const next_b = p.b + (column + kTileStrip) * b_depth + depth * kTileStrip;
      const int64_t next_rows = p.n - column < 2 * kTileStrip ? 0 : k * kTileStrip / kRow;
      for (int64_t block = 0; block < blocks; ++block) {
        const int64_t row = block * kTileStrip;
        FetchedNext next;
        const int64_t share = next_rows * block / blocks;
        next.b = {reinterpret_cast<const char*>(next_b + share * kRow), 128,
                  next_rows * (block + 1) / blocks - share};
        if constexpr (sizeof(Out) == sizeof(float)) {
          const bool lowest = block + 1 == blocks;
          if (p.addend != nullptr && depth == 0 && !(lowest && last)) {
            const int64_t at =
                lowest ? column + kTileStrip : (row + kTileStrip) * p.c_stride + column;
            next.sums = FarSums(p.c + at, p.c_stride, kTileStrip);
            if (p.addend != p.c) next.addend = FarSums(p.addend + at, p.c_stride, kTileStrip);
          }
        }
        MultiplyBlock(p, row, column, depth, k, next);
      }
    }
  }
}

// Strips of a go by.
template <typename Out>
void MultiplyByRows(const TileProduct<Out>& p, int64_t most) {
  int configured = kTileStrip;
  for (int64_t row = 0; row < p.m; row += kTileStrip) {
    const int rows = static_cast<int>(p.m - row < kTileStrip ? p.m - row : kTileStrip);
    if (rows != configured) Configure(rows);
    configured = rows;
    for (int64_t depth = 0; depth < p.k; depth += most) {
      const int64_t k = p.k - depth < most ? p.k - depth : most;
      for (int64_t column = 0; column < p.n; column += kTileStrip) {
        FetchedNext next;
        if constexpr (sizeof(Out) == sizeof(float)) {
          const int64_t left = p.m - row - kTileStrip;
          if (depth == 0 && p.addend != nullptr && left > 0) {
            next.sums = FarSums(p.c + (row + kTileStrip) * p.c_stride + column, p.c_stride, left);
          }
        }
        MultiplyBlock(p, row, column, depth, k, next);
      }
    }
  }
}

template <typename Out>
[[gnu::flatten]] void MultiplyTiles(const TileProduct<Out>& p) {
  // Sums that are rounded cannot be taken up again.
  const int64_t most = sizeof(Out) == sizeof(float) && p.k > kNear * 3 / 2 ? kNear : p.k;
  Configure(kTileStrip);
  const bool b_is_far = p.k > most || BIsFar(p.k, p.n);
  if (b_is_far && p.n > p.m && p.m % kTileStrip == 0) {
    MultiplyByColumns(p, most);
  } else {
    MultiplyByRows(p, most);
  }
  _tile_release();
}

}  // namespace

void AddTiles(Kernels* kernels) {
  kernels->tiles = {.available = true,
                    .pack_rows = PackRows<false, Bf16>,
                    .pack_float_rows = PackRows<false, float>,
                    .pack_transposed = PackRows<true, Bf16>,
                    .pack_columns = PackColumns<Bf16>,
                    .pack_float_columns = PackColumns<float>,
                    .multiply = MultiplyTiles<float>,
                    .multiply_to_narrow = MultiplyTiles<Bf16>};
}
#endif

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
