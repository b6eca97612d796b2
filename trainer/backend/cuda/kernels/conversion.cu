#include "trainer/backend/cuda/check.h"
#include "trainer/backend/cuda/kernels/gpu.h"
#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/kernels/launch.h"

namespace gyre::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    NarrowKernel(const float* __restrict__ x, int64_t count, Bf16* __restrict__ y) {
  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += stride) {
    y[i] = __float2bfloat16_rn(x[i]);
  }
}

}  // namespace

void Narrowed(cudaStream_t stream, const float* x, int64_t count, Bf16* y) {
  if (count == 0) return;
  Launch(stream, BlocksFor(count, kThreads), kThreads, 0, NarrowKernel, x, count, y);
}

}  // namespace gyre::cuda
