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
