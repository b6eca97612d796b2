#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/kernels/reduce.h"

namespace gyre::cuda {
namespace {

constexpr int kColumns = 32, kRows = 8;

__global__ void __launch_bounds__(kColumns* kRows)
    ColumnSumsKernel(const float* __restrict__ rows, int64_t parts, int64_t stride, int width,
                     float* __restrict__ out) {
  GPU_SHARED(float, sums, [kRows][kColumns]);
  const int64_t column = int64_t{blockIdx.x} * kColumns + threadIdx.x;
  float sum = 0;
  if (column < width) {
#pragma unroll 8
    for (int64_t row = threadIdx.y; row < parts; row += kRows) sum += rows[row * stride + column];
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= width) return;
  for (int row = 1; row < kRows; ++row) sum += sums[row][threadIdx.x];
  out[column] += sum;
}

}  // namespace

void AddColumnSums(cudaStream_t stream, const float* rows, int64_t parts, int64_t stride, int width,
                   float* out) {
  if (parts == 0 || width == 0) return;
  Launch(stream, (width + kColumns - 1) / kColumns, dim3(kColumns, kRows), 0, ColumnSumsKernel,
         rows, parts, stride, width, out);
}

}  // namespace gyre::cuda
