#pragma once

// Sums and maxima over threads, always in the same order, given to every thread that takes part.
// Rows: the threads of a block with one threadIdx.y share a row. They are one warp, or the whole
// block (blockDim.y = 1); launch.h lays blocks out like that.

#include <cfloat>
#include <cstdint>

#include "trainer/backend/cuda/kernels/gpu.h"

namespace gyre::cuda {

struct Plus {
  template <typename T>
  static __device__ __forceinline__ T Of(T a, T b) {
    return a + b;
  }
  static constexpr float kNothing = 0;
};
struct Larger {
  static __device__ __forceinline__ float Of(float a, float b) { return fmaxf(a, b); }
  static constexpr float kNothing = -FLT_MAX;
};

/// Over groups of `lanes` neighbouring lanes; a power of two.
template <typename How, typename T>
__device__ __forceinline__ T LanesReduced(T x, int lanes) {
  for (int apart = lanes / 2; apart > 0; apart /= 2) {
    x = How::Of(x, __shfl_xor_sync(0xffffffffu, x, apart));
  }
  return x;
}

template <typename How, typename T>
__device__ __forceinline__ T WarpReduced(T x) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) {
    x = How::Of(x, __shfl_xor_sync(0xffffffffu, x, apart));
  }
  return x;
}

template <typename How, typename T>
__device__ __forceinline__ T RowReduced(T x) {
  x = WarpReduced<How>(x);
  if (blockDim.x == 32) return x;
  GPU_SHARED(T, warps, [32]);
  const int lane = threadIdx.x % 32;
  __syncthreads();  // the last reduction has been read
  if (lane == 0) warps[threadIdx.x / 32] = x;
  __syncthreads();
  return WarpReduced<How>(lane < static_cast<int>(blockDim.x) / 32 ? warps[lane]
                                                                   : T{How::kNothing});
}

template <typename T>
__device__ __forceinline__ T RowSum(T x) {
  return RowReduced<Plus>(x);
}
__device__ __forceinline__ float RowLargest(float x) { return RowReduced<Larger>(x); }

/// 1 / sqrt(mean + epsilon); squares that no float holds give NaN, not zeros.
__device__ __forceinline__ float InverseRms(float squares, int count, float epsilon) {
  return squares <= FLT_MAX ? rsqrtf(squares / count + epsilon) : NAN;
}

/// out (width) += the sum of `parts` rows of `width` numbers that are `stride` apart.
void AddColumnSums(cudaStream_t stream, const float* rows, int64_t parts, int64_t stride, int width,
                   float* out);

}  // namespace gyre::cuda
