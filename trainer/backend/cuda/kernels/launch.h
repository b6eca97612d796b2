#pragma once

// How a kernel is launched, in one place.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "trainer/backend/cuda/check.h"
#include "trainer/backend/cuda/kernels/gpu.h"

namespace gyre::cuda {

/// Blocks of a kernel whose threads walk over `count` items with a stride of the whole grid: enough
/// to fill any device, and no more.
inline int BlocksFor(int64_t count, int threads) {
  constexpr int64_t kMost = 132 * 16;
  return static_cast<int>(std::clamp<int64_t>((count + threads - 1) / threads, 1, kMost));
}

/// Threads for a row of so many items, of which each takes about `each`: a power of two.
inline int RowThreads(int64_t items, int each, int most) {
  int threads = 32;
  while (threads < most && static_cast<int64_t>(threads) * each < items) threads *= 2;
  return threads;
}

/// A block of rows with so many threads each.
inline dim3 RowBlock(int threads) { return dim3(threads, threads == 32 ? 4 : 1); }

/// A grid whose threads have one column each, of so many, and walk over rows.
struct ColumnGrid {
  ColumnGrid(int64_t rows, int64_t columns, int block_threads) {
    constexpr int64_t kMost = 132 * 32;
    const int across = RowThreads(columns, 1, block_threads);
    threads = dim3(across, block_threads / across);
    const int64_t wide = (columns + across - 1) / across;
    const int64_t high = (rows + threads.y - 1) / threads.y;
    blocks = dim3(static_cast<unsigned>(wide),
                  static_cast<unsigned>(std::clamp<int64_t>(kMost / wide, 1, high)));
  }
  dim3 blocks, threads;
};

/// `shared`: bytes of dynamic shared memory.
template <typename... Parameters>
void Launch(cudaStream_t stream, dim3 blocks, dim3 threads, size_t shared,
            void (*kernel)(Parameters...), std::type_identity_t<Parameters>... arguments) {
  constexpr size_t kWithoutAsking = 48 << 10;
  if (shared > kWithoutAsking) {
    GYRE_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(shared)));
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  GYRE_CUDA(cudaLaunchKernelEx(&config, kernel, arguments...));
}

}  // namespace gyre::cuda
