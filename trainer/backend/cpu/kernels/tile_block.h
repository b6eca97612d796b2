#pragma once

// Blocks of products on tiles (AMX): 32 x 32 numbers of c stay in four tiles while all of k goes
// by, two tiles of a and two of b at a time. Only for instruction sets that have tiles. Everything
// here is inlined into functions that are [[gnu::flatten]].

#include "trainer/backend/cpu/kernels/kernels.h"
#include "trainer/backend/cpu/kernels/lanes.h"
#include "trainer/backend/cpu/kernels/words.h"

#ifdef __AMX_BF16__
namespace gyre::cpu::GYRE_INSTRUCTION_SET {

inline constexpr int kTileSize = kLanes * kTileDepth;
static_assert(kWidth == kLanes && kTileStrip == 2 * kLanes);

// Where the tile of column `column` and row `depth` is. The last strip may be one tile wide.
[[gnu::always_inline]] inline Bf16* TileAt(Bf16* tiles, int64_t column, int64_t columns,
                                           int64_t row, int64_t depth) {
  const int64_t strip = column / kTileStrip * kTileStrip;
  const int64_t wide = columns - strip > kLanes ? 2 : 1;
  return tiles + strip * depth +
         (row / kTileDepth * wide + column % kTileStrip / kLanes) * int64_t{kTileSize};
}

// Where row `row` of a block is in an a that is packed.
[[gnu::always_inline]] inline int RowInTiles(int row) {
  return row / kLanes * kTileSize + row % kLanes * kTileDepth;
}

[[gnu::always_inline]] inline void StoreTile(const Words* words, Bf16* tile) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) *reinterpret_cast<Words*>(tile + 2 * kLanes * i) = words[i];
}

// Tiles 0 to 3 are of c: upper left, upper right, lower left, lower right; 4 and 5 of a, 6 and 7 of
// b. Whoever has 16 rows or less uses no lower ones.
[[gnu::always_inline]] inline void Configure(int rows) {
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

// The four tiles of c, or what is to be added to.
template <int kHigh, int kWide>
[[gnu::always_inline]] inline void Start(const float* addend, int64_t stride) {
  if (addend == nullptr) {
    _tile_zero(0);
    if (kWide == 2) _tile_zero(1);
    if (kHigh == 2) _tile_zero(2);
    if (kHigh == 2 && kWide == 2) _tile_zero(3);
    return;
  }
  _tile_loadd(0, addend, 4 * stride);
  if (kWide == 2) _tile_loadd(1, addend + kLanes, 4 * stride);
  if (kHigh == 2) _tile_loadd(2, addend + kLanes * stride, 4 * stride);
  if (kHigh == 2 && kWide == 2) _tile_loadd(3, addend + kLanes * stride + kLanes, 4 * stride);
}

// What is far away and will be needed soon, in rows of two lines: a few are fetched into the second
// cache with each step.
struct FarRows {
  const char* first = nullptr;
  int64_t stride = 0;  // in bytes
  int64_t rows = 0;

  template <bool kToWrite>
  [[gnu::always_inline]] void Fetch() {
    for (int i = 0; i < 4 && rows > 0; ++i, --rows, first += stride) {
      __builtin_prefetch(first, kToWrite, 2);
      __builtin_prefetch(first + 64, kToWrite, 2);
    }
  }
};
// Whether a b of so many numbers does not stay in the second cache, beside what else is there.
[[gnu::always_inline]] inline bool BIsFar(int64_t k, int64_t n) { return k * n > int64_t{1} << 19; }

// Of a product of floats, kTileStrip columns.
[[gnu::always_inline]] inline FarRows FarSums(const float* sums, int64_t stride, int64_t rows) {
  return {reinterpret_cast<const char*>(sums), 4 * stride, rows < kTileStrip ? rows : kTileStrip};
}

struct FetchedNext {
  FarRows sums, addend, b;

  [[gnu::always_inline]] void Fetch() {
    sums.Fetch<true>();
    addend.Fetch<false>();
    b.Fetch<false>();
  }
};

// Calls meanwhile() once for each kTileDepth numbers of k: the processor's other units have time.
template <int kHigh, int kWide, typename Meanwhile>
[[gnu::always_inline]] inline void Accumulate(int64_t k, LeftTiles a, const Bf16* b,
                                              const Meanwhile& meanwhile) {
  for (int64_t depth = 0; depth < k; depth += kTileDepth) {
    _tile_loadd(4, a.first, a.stride);
    if (kHigh == 2) _tile_loadd(5, a.first + a.lower, a.stride);
    _tile_loadd(6, b, 4 * kLanes);
    if (kWide == 2) _tile_loadd(7, b + kTileSize, 4 * kLanes);
    _tile_dpbf16ps(0, 4, 6);
    if (kHigh == 2) _tile_dpbf16ps(2, 5, 6);
    if (kWide == 2) _tile_dpbf16ps(1, 4, 7);
    if (kHigh == 2 && kWide == 2) _tile_dpbf16ps(3, 5, 7);
    a.first += a.step;
    b += kWide * kTileSize;
    meanwhile();
  }
}

template <int kHigh, int kWide>
[[gnu::always_inline]] inline void StoreTiles(float* c, int64_t stride) {
  _tile_stored(0, c, 4 * stride);
  if (kWide == 2) _tile_stored(1, c + kLanes, 4 * stride);
  if (kHigh == 2) _tile_stored(2, c + kLanes * stride, 4 * stride);
  if (kHigh == 2 && kWide == 2) _tile_stored(3, c + kLanes * stride + kLanes, 4 * stride);
}

// What is left to do for a block, a few of its steps at a time.
template <typename Block>
class Rest {
 public:
  // `chances`: how often Some will be called.
  [[gnu::always_inline]] explicit Rest(int64_t chances)
      : some_(static_cast<int>((Block::kSteps + chances - 1) / chances)) {}
  [[gnu::always_inline]] void Start(const Block& block) {
    block_ = block;
    next_ = 0;
  }
  [[gnu::always_inline]] void Some() {
    for (int i = 0; i < some_ && next_ < Block::kSteps; ++i) block_.Step(next_++);
  }

 private:
  const int some_;
  Block block_;
  int next_ = Block::kSteps;
};

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
#endif
