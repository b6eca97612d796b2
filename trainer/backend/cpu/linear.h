#pragma once

// Products with a weight matrix W (outputs, inputs), whole operations or a part of their rows.

#include "trainer/backend/cpu/device.h"

namespace gyre::cpu {

/// W as the right-hand side of x W^T, or of dy W, once all threads have packed it.
template <typename Narrow>
PackedMatrix<Narrow> ForwardForm(const float* weight, int64_t outputs, int64_t inputs,
                                 Narrow* packed) {
  return {inputs, outputs, {weight, inputs, Layout::kTransposed}, packed};
}
template <typename Narrow>
PackedMatrix<Narrow> BackwardForm(const float* weight, int64_t outputs, int64_t inputs,
                                  Narrow* packed) {
  return {outputs, inputs, {weight, inputs, Layout::kRows}, packed};
}

/// Assigns y (rows, n) = x (rows, k) b, or that and what is to be added (rows, n), which may be y;
/// on the calling thread.
template <typename Narrow, typename Out>
void MultiplyRows(NarrowDevice<Narrow>& device, int64_t rows, const Narrow* x,
                  const PackedMatrix<Narrow>& b, Out* y, const Out* addend = nullptr) {
  if constexpr (std::is_same_v<Narrow, Bf16>) {
    if (device.Tiled(b.k, b.n)) {
      TileProduct<Out> product{.m = rows, .n = b.n, .k = b.k, .a = x, .a_stride = b.k};
      product.b = b.packed, product.c = y, product.c_stride = b.n;
      if constexpr (std::is_same_v<Out, float>) product.addend = addend;
      device.Multiply(product);
      return;
    }
  }
  if (addend != nullptr && addend != y) std::copy_n(addend, rows * b.n, y);
  device.Multiply(MatrixProduct<Narrow, Out>{.m = rows,
                                             .n = b.n,
                                             .k = b.k,
                                             .a = {x, b.k},
                                             .b = {b.packed, 0, Layout::kPacked},
                                             .c = y,
                                             .c_stride = b.n,
                                             .add = addend != nullptr});
}

/// As MultiplyRows, of an x that is packed, whose rows are a multiple of kTileStrip.
inline void MultiplyPackedRows(const NarrowDevice<Bf16>& device, int64_t rows, const Bf16* x,
                               const PackedMatrix<Bf16>& b, float* y,
                               const float* addend = nullptr) {
  device.Multiply(TileProduct<float>{.m = rows,
                                     .n = b.n,
                                     .k = b.k,
                                     .a = x,
                                     .b = b.packed,
                                     .c = y,
                                     .c_stride = b.n,
                                     .addend = addend});
}

/// Calls part(rows, thread) for each thread's rows, some at a time.
template <typename Narrow, typename Part>
void ForRows(NarrowDevice<Narrow>& device, int64_t tokens, const Part& part) {
  device.pool.Run([&](int thread) {
    const Range mine = Split({0, tokens}, device.threads(), thread);
    for (int64_t n = mine.begin; n < mine.end; n += kRowsPerThread<Narrow>) {
      part(Range{n, std::min(n + kRowsPerThread<Narrow>, mine.end)}, thread);
    }
  });
}

/// Some of one thread's rows of a block of tokens.
struct BlockRows {
  Range rows;
  int64_t at = 0;          // the first of them in the block
  int64_t block_size = 0;  // of all threads
};

/// For one block of tokens after the other, block_rows for each thread: calls rows_part(rows,
/// thread) with each thread's rows of the block, at most most_rows at a time; then, when all have
/// returned, block_part(block, thread).
template <typename Narrow, typename RowsPart, typename BlockPart>
void ForBlocks(NarrowDevice<Narrow>& device, int64_t tokens, int64_t block_rows, int64_t most_rows,
               const RowsPart& rows_part, const BlockPart& block_part) {
  constexpr int64_t kGrain = std::is_same_v<Narrow, Bf16> ? kTileDepth : 1;
  const int threads = device.threads();
  for (int64_t n = 0; n < tokens; n += threads * block_rows) {
    const Range block{n, std::min(n + threads * block_rows, tokens)};
    device.pool.Run([&](int thread) {
      const Range mine = Split(block, threads, thread, kGrain);
      for (int64_t m = mine.begin; m < mine.end; m += most_rows) {
        rows_part(BlockRows{{m, std::min(m + most_rows, mine.end)}, m - n, block.size()}, thread);
      }
    });
    device.pool.Run([&](int thread) { block_part(block, thread); });
  }
}

/// The gradient of a weight matrix (outputs, inputs): dy^T x is added to it once for each block of
/// tokens, whose rows threads leave in dy_transposed (outputs, block) and x (block, inputs), which
/// all share.
template <typename Narrow>
class WeightGradient {
 public:
  /// Rows of dy lie dy_stride apart, at least `outputs`; numbers in between are 0.
  WeightGradient(NarrowDevice<Narrow>& device, int64_t outputs, int64_t dy_stride, int64_t inputs,
                 Narrow* dy_transposed, Narrow* x)
      : device_(device),
        outputs_(outputs),
        dy_stride_(dy_stride),
        inputs_(inputs),
        dy_(dy_transposed),
        x_(x) {}

  void LeaveDy(const BlockRows& mine, const Narrow* dy) const {
    const int64_t rows = mine.rows.size();
    if constexpr (std::is_same_v<Narrow, Bf16>) {
      if (Tiled(mine.block_size)) {
        device_.kernels.tiles.pack_transposed(dy, dy_stride_, rows, dy_stride_, mine.at,
                                              mine.block_size, dy_);
        return;
      }
    }
    device_.narrow.transpose(dy, dy_stride_, rows, outputs_, dy_ + mine.at, mine.block_size);
  }
  /// Where x is to be computed, for LeaveX: among the others', or in `own`, which is given back
  /// after LeaveX.
  Narrow* PlaceOfX(const BlockRows& mine, Narrow* own) const {
    return Tiled(mine.block_size) ? own : x_ + mine.at * inputs_;
  }
  void LeaveX(const BlockRows& mine, [[maybe_unused]] const Narrow* x) const {
    if constexpr (std::is_same_v<Narrow, Bf16>) {
      if (!Tiled(mine.block_size)) return;
      device_.kernels.tiles.pack_rows(x, inputs_, mine.rows.size(), inputs_, mine.at,
                                      mine.block_size, x_);
    }
  }
  /// Adds this thread's part. Where no x has been left, it is `x`, or, with tiles, must be left.
  void Add(int64_t block, int thread, float* d_weight, const Narrow* x = nullptr) const {
    const bool tiled = Tiled(block);
    const Range mine = Split({0, outputs_}, device_.threads(), thread, tiled ? kTileStrip : kLanes);
    if (mine.size() == 0) return;
    float* const sums = d_weight + mine.begin * inputs_;
    const Narrow* const dy = dy_ + mine.begin * block;
    if constexpr (std::is_same_v<Narrow, Bf16>) {
      if (tiled) {
        device_.Multiply(TileProduct<float>{.m = mine.size(),
                                            .n = inputs_,
                                            .k = block,
                                            .a = dy,
                                            .b = x_,
                                            .c = sums,
                                            .c_stride = inputs_,
                                            .addend = sums});
        return;
      }
    }
    device_.Multiply(MatrixProduct<Narrow, float>{.m = mine.size(),
                                                  .n = inputs_,
                                                  .k = block,
                                                  .a = {dy, block},
                                                  .b = {x == nullptr ? x_ : x, inputs_},
                                                  .c = sums,
                                                  .c_stride = inputs_,
                                                  .add = true});
  }

 private:
  bool Tiled(int64_t block) const {
    return device_.Tiled(block, inputs_) && dy_stride_ % kLanes == 0;
  }

  NarrowDevice<Narrow>& device_;
  const int64_t outputs_, dy_stride_, inputs_;
  Narrow *const dy_, *const x_;
};

/// Every thread's sums (count), to which it adds on its own.
inline void ZeroSums(Device& device, const PerThread<float>& sums, int64_t count) {
  for (int thread = 0; thread < device.threads(); ++thread) {
    std::fill_n(sums.Of(thread), count, 0.0f);
  }
}
/// Adds them to total (count) in the threads' order, from element `at`.
inline void AddSums(Device& device, const PerThread<float>& sums, int64_t at, int64_t count,
                    float* total) {
  for (int thread = 0; thread < device.threads(); ++thread) {
    device.kernels.add_scaled(sums.Of(thread) + at, 1, count, total);
  }
}

}  // namespace gyre::cpu
