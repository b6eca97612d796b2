// Products of Bf16 on tiles. A block of 32 x 32 numbers of c stays in four tiles while all of k
// goes by, two tiles of a and two of b at a time; 32 rows of a stay in the first cache meanwhile.

#include "trainer/backend/cpu/kernels/kernels.h"
#include "trainer/backend/cpu/kernels/lanes.h"
#include "trainer/backend/cpu/kernels/words.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {

#ifndef __AMX_BF16__
void AddTiles(Kernels*) {}
#else
namespace {

constexpr int kTileSize = kLanes * kTileDepth;
static_assert(kWidth == kLanes && kTileStrip == 2 * kLanes);

// Where the tile of column `column` and row `depth` is. The last strip may be one tile wide.
Bf16* TileAt(Bf16* tiles, int64_t column, int64_t columns, int64_t row, int64_t depth) {
  const int64_t strip = column / kTileStrip * kTileStrip;
  const int64_t wide = columns - strip > kLanes ? 2 : 1;
  return tiles + strip * depth +
         (row / kTileDepth * wide + column % kTileStrip / kLanes) * int64_t{kTileSize};
}

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

[[gnu::always_inline]] inline void StoreTile(const Words* words, Bf16* tile) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) *reinterpret_cast<Words*>(tile + 2 * kLanes * i) = words[i];
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

// Tiles 0 to 3 are of c: upper left, upper right, lower left, lower right; 4 and 5 of a, 6 and 7 of
// b. Whoever has 16 rows or less uses no lower ones.
void Configure(int rows) {
  struct alignas(64) {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {};
    uint8_t rows[16] = {};
  } shapes;
  for (int i = 0; i < 8; ++i) {
    const bool lower = i == 2 || i == 3 || i == 5;
    const int upper_rows = rows < kLanes ? rows : kLanes;
    shapes.row_bytes[i] = 4 * kLanes;
    const int lower_rows = rows > kLanes ? rows - kLanes : 1;  // none is not allowed
    shapes.rows[i] = static_cast<uint8_t>(i >= 6 ? kLanes : lower ? lower_rows : upper_rows);
  }
  // g++ 12 believes that loading reads the first bytes alone.
  __asm__ volatile("" : : "r"(&shapes) : "memory");
  _tile_loadconfig(&shapes);
}

// Of a: rows `stride` bytes apart, the lower ones `lower` numbers after the upper ones, kTileDepth
// columns `step` numbers after the last ones.
struct LeftTiles {
  const Bf16* first;
  int64_t stride, lower, step;
};

template <int kHigh, int kWide>
void Accumulate(int64_t k, LeftTiles a, const Bf16* b) {
  _tile_zero(0);
  if (kWide == 2) _tile_zero(1);
  if (kHigh == 2) _tile_zero(2);
  if (kHigh == 2 && kWide == 2) _tile_zero(3);
  for (int64_t depth = 0; depth < k; depth += kTileDepth) {
    _tile_loadd(4, a.first, a.stride);
    _tile_loadd(6, b, 4 * kLanes);
    _tile_dpbf16ps(0, 4, 6);
    if (kWide == 2) {
      _tile_loadd(7, b + kTileSize, 4 * kLanes);
      _tile_dpbf16ps(1, 4, 7);
    }
    if (kHigh == 2) {
      _tile_loadd(5, a.first + a.lower, a.stride);
      _tile_dpbf16ps(2, 5, 6);
    }
    if (kHigh == 2 && kWide == 2) _tile_dpbf16ps(3, 5, 7);
    a.first += a.step;
    b += kWide * kTileSize;
  }
}

template <int kHigh, int kWide>
void StoreTiles(float* c, int64_t stride) {
  _tile_stored(0, c, 4 * stride);
  if (kWide == 2) _tile_stored(1, c + kLanes, 4 * stride);
  if (kHigh == 2) _tile_stored(2, c + kLanes * stride, 4 * stride);
  if (kHigh == 2 && kWide == 2) _tile_stored(3, c + kLanes * stride + kLanes, 4 * stride);
}

// `rows` rows of c, kWide tiles wide.
template <int kHigh, int kWide, typename Out>
void Block(const TileProduct<Out>& p, int rows, LeftTiles a, const Bf16* b, int64_t at) {
  Out* c = p.c + at;
  Accumulate<kHigh, kWide>(p.k, a, b);
  if constexpr (sizeof(Out) == sizeof(float)) {
    if (p.addend == nullptr) {
      StoreTiles<kHigh, kWide>(c, p.c_stride);
      return;
    }
  }
  alignas(64) float sums[kTileStrip * kTileStrip];
  StoreTiles<kHigh, kWide>(sums, kTileStrip);
  for (int row = 0; row < rows; ++row) {
    const float* addend = p.addend == nullptr ? nullptr : p.addend + at + row * p.c_stride;
    for (int column = 0; column < kWide * kLanes; column += kLanes) {
      Floats sum = Load(Whole{}, sums + row * kTileStrip + column);
      if (addend != nullptr) sum += Load(Whole{}, addend + column);
      Store(Whole{}, sum, c + row * p.c_stride + column);
    }
  }
}

template <int kHigh, typename Out>
void Strip(const TileProduct<Out>& p, int64_t row, int rows) {
  const bool packed = p.a_stride == 0;
  const LeftTiles a =
      packed ? LeftTiles{p.a + row * p.k, 4 * kLanes, kTileSize, kHigh * kTileSize}
             : LeftTiles{p.a + row * p.a_stride, 2 * p.a_stride, kLanes * p.a_stride, kTileDepth};
  const int64_t depth = p.b_depth == 0 ? p.k : p.b_depth;
  int64_t column = 0;
  for (; column + kTileStrip <= p.n; column += kTileStrip) {
    Block<kHigh, 2>(p, rows, a, p.b + column * depth, row * p.c_stride + column);
  }
  if (column < p.n) {
    Block<kHigh, 1>(p, rows, a, p.b + column * depth, row * p.c_stride + column);
  }
}

template <typename Out>
[[gnu::flatten]] void Multiply(const TileProduct<Out>& p) {
  int configured = 0;
  for (int64_t row = 0; row < p.m; row += kTileStrip) {
    const int rows = static_cast<int>(p.m - row < kTileStrip ? p.m - row : kTileStrip);
    if (rows != configured) Configure(rows);
    configured = rows;
    if (rows > kLanes) {
      Strip<2>(p, row, rows);
    } else {
      Strip<1>(p, row, rows);
    }
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
                    .multiply = Multiply<float>,
                    .multiply_to_narrow = Multiply<Bf16>};
}
#endif

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
