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

/// Assigns y (rows, n) = x (rows, k) b, or adds it; on the calling thread.
template <typename Narrow, typename Out>
void MultiplyRows(NarrowDevice<Narrow>& device, int64_t rows, const Narrow* x,
                  const PackedMatrix<Narrow>& b, Out* y, bool add = false) {
  device.Multiply(MatrixProduct<Narrow, Out>{.m = rows,
                                             .n = b.n,
                                             .k = b.k,
                                             .a = {x, b.k},
                                             .b = {b.packed, 0, Layout::kPacked},
                                             .c = y,
                                             .c_stride = b.n,
                                             .add = add});
}

/// Adds dy^T x to this thread's part of d_weight (outputs, inputs), given x (rows, inputs) and dy^T
/// (outputs, rows).
template <typename Narrow>
void AddWeightGradient(NarrowDevice<Narrow>& device, int thread, int64_t rows, int64_t outputs,
                       int64_t inputs, const Narrow* dy_transposed, const Narrow* x,
                       float* d_weight) {
  const Range mine = Split({0, outputs}, device.threads(), thread, kLanes);
  if (mine.size() == 0) return;
  device.Multiply(MatrixProduct<Narrow, float>{.m = mine.size(),
                                               .n = inputs,
                                               .k = rows,
                                               .a = {dy_transposed + mine.begin * rows, rows},
                                               .b = {x, inputs},
                                               .c = d_weight + mine.begin * inputs,
                                               .c_stride = inputs,
                                               .add = true});
}

/// Calls part(rows, thread) for each thread's rows, some at a time.
template <typename Part>
void ForRows(Device& device, int64_t tokens, const Part& part) {
  device.pool.Run([&](int thread) {
    const Range mine = Split({0, tokens}, device.threads(), thread);
    for (int64_t n = mine.begin; n < mine.end; n += kRowsPerThread) {
      part(Range{n, std::min(n + kRowsPerThread, mine.end)}, thread);
    }
  });
}

/// Some of one thread's rows of a block of tokens.
struct BlockRows {
  Range rows;
  int64_t at = 0;          // the first of them in the block
  int64_t block_size = 0;  // of all threads

  /// y (columns, block_size) = x^T, at these rows of x (rows, columns).
  template <typename Narrow>
  void Transpose(const NarrowDevice<Narrow>& device, const Narrow* x, int64_t columns,
                 Narrow* y) const {
    device.narrow.transpose(x, columns, rows.size(), columns, y + at, block_size);
  }
};

/// For one block of tokens after the other, block_rows for each thread: calls rows_part(rows,
/// thread) with each thread's rows of the block, at most most_rows at a time; then, when all have
/// returned, block_part(block, thread).
template <typename RowsPart, typename BlockPart>
void ForBlocks(Device& device, int64_t tokens, int64_t block_rows, int64_t most_rows,
               const RowsPart& rows_part, const BlockPart& block_part) {
  const int threads = device.threads();
  for (int64_t n = 0; n < tokens; n += threads * block_rows) {
    const Range block{n, std::min(n + threads * block_rows, tokens)};
    device.pool.Run([&](int thread) {
      const Range mine = Split(block, threads, thread);
      for (int64_t m = mine.begin; m < mine.end; m += most_rows) {
        rows_part(BlockRows{{m, std::min(m + most_rows, mine.end)}, m - n, block.size()}, thread);
      }
    });
    device.pool.Run([&](int thread) { block_part(block, thread); });
  }
}

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
