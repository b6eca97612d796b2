#pragma once

// For tests of kernels on tiles: packed matrices, and where their numbers are.

#include "tests/trainer/backend/kernel_rows.h"

namespace gyre::cpu {

class TilesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!tiles_.available) GTEST_SKIP() << "this processor has no tiles";
  }
  const TileKernels& tiles_ = SupportedKernels().front()->tiles;
};

/// A packed matrix must be wholly written, or a NaN shows.
inline Guarded<Bf16> Unwritten(int64_t count) {
  return Guarded<Bf16>(count).Fill([](int64_t) { return NAN; });
}

/// Number (row, column) of an a (rows, columns) that is packed, or of a b (columns, rows).
inline double AtA(const Guarded<Bf16>& tiles, int64_t row, int64_t column, int64_t columns) {
  const int64_t strip = row / kTileStrip * kTileStrip;
  const int64_t tile = column / kTileDepth * 2 + row % kTileStrip / kLanes;
  return tiles[strip * columns + tile * kLanes * kTileDepth + row % kLanes * kTileDepth +
               column % kTileDepth];
}
inline double AtB(const Guarded<Bf16>& tiles, int64_t row, int64_t column, int64_t rows) {
  const int64_t strip = column / kTileStrip * kTileStrip;
  const int64_t tile = row / kTileDepth * 2 + column % kTileStrip / kLanes;
  return tiles[strip * rows + tile * kLanes * kTileDepth + row % kTileDepth / 2 * kTileDepth +
               column % kLanes * 2 + row % 2];
}

}  // namespace gyre::cpu
