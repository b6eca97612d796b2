// The wrappers of ptx.h against plain loops: emulated, and on a GPU by scripts/gpu-check, where
// this is what shows that the text of the instructions is right.

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/trainer/backend/cuda/device_array.h"
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/kernels/ptx.h"

namespace gyre::cuda {
namespace {

constexpr int kLanes = 32;

/// A row that follows from no formula of the instruction's own.
__host__ __device__ int GivenRow(int lane) { return lane * 5 % kLanes; }

__global__ void __launch_bounds__(kLanes)
    LoadKernel(const uint16_t* matrices, bool transposed, uint32_t* pairs) {
  GPU_DYN_SHARED(uint16_t, shared);
  for (int i = threadIdx.x; i < kLanes * 8; i += kLanes) shared[i] = matrices[i];
  __syncthreads();
  uint32_t loaded[4];
  const uint16_t* row = shared + GivenRow(threadIdx.x) * 8;
  if (transposed) {
    ptx::LoadMatrixTransposed(loaded, row);
  } else {
    ptx::LoadMatrix(loaded, row);
  }
  for (int i = 0; i < 4; ++i) pairs[threadIdx.x * 4 + i] = loaded[i];
}

void ExpectLoads(bool transposed) {
  std::vector<uint16_t> matrices(kLanes * 8);
  std::iota(matrices.begin(), matrices.end(), uint16_t{1000});
  const DeviceArray<uint16_t> source(matrices);
  const DeviceArray<uint32_t> pairs(kLanes * 4);
  Launch(nullptr, 1, kLanes, matrices.size() * sizeof(uint16_t), LoadKernel, source.data(),
         transposed, pairs.data());
  const std::vector<uint32_t> loaded = pairs.Values();
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int matrix = 0; matrix < 4; ++matrix) {
      const auto element = [&](int row, int column) -> uint32_t {
        if (transposed) std::swap(row, column);
        return matrices[GivenRow(matrix * 8 + row) * 8 + column];
      };
      const int row = lane / 4, column = lane % 4 * 2;
      EXPECT_EQ(loaded[lane * 4 + matrix], element(row, column) | element(row, column + 1) << 16)
          << "lane " << lane << ", matrix " << matrix;
    }
  }
}

TEST(Ptx, LoadsMatrices) { ExpectLoads(false); }
TEST(Ptx, LoadsTransposedMatrices) { ExpectLoads(true); }

__device__ uint32_t Pair(__nv_bfloat16 low, __nv_bfloat16 high) {
  return __bfloat16_as_ushort(low) | static_cast<uint32_t>(__bfloat16_as_ushort(high)) << 16;
}

/// d (16, 8) += a (16, 16) b (16, 8), all of them by rows.
__global__ void __launch_bounds__(kLanes)
    ProductKernel(const __nv_bfloat16* a, const __nv_bfloat16* b, float* d) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4 * 2;
  uint32_t rows[4], columns[2];
  for (int i = 0; i < 4; ++i) {
    const __nv_bfloat16* from = a + (g + i % 2 * 8) * 16 + t + i / 2 * 8;
    rows[i] = Pair(from[0], from[1]);
  }
  for (int i = 0; i < 2; ++i) {
    const __nv_bfloat16* from = b + (t + i * 8) * 8 + g;
    columns[i] = Pair(from[0], from[8]);
  }
  float sums[4];
  for (int i = 0; i < 4; ++i) sums[i] = d[(g + i / 2 * 8) * 8 + t + i % 2];
  ptx::MultiplyAdd(sums, rows, columns);
  for (int i = 0; i < 4; ++i) d[(g + i / 2 * 8) * 8 + t + i % 2] = sums[i];
}

// Whole numbers, so that every sum is exact in whichever order it is made.
TEST(Ptx, MultipliesAndAdds) {
  std::vector<float> a(16 * 16), b(16 * 8), d(16 * 8);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i * i * 7 % 23) - 11;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * i * 5 % 19) - 9;
  for (size_t i = 0; i < d.size(); ++i) d[i] = static_cast<float>(i);
  const DeviceArray<__nv_bfloat16> rows(ToBf16(a)), columns(ToBf16(b));
  const DeviceArray<float> sums(d);
  Launch(nullptr, 1, kLanes, 0, ProductKernel, rows.data(), columns.data(), sums.data());
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 8; ++j) {
      for (int k = 0; k < 16; ++k) d[i * 8 + j] += a[i * 16 + k] * b[k * 8 + j];
    }
  }
  EXPECT_EQ(sums.Values(), d);
}

/// Two groups of one copy a thread; odd threads of the second one copy zeros.
__global__ void __launch_bounds__(kLanes)
    CopyKernel(const uint32_t* source, uint32_t* first, uint32_t* second) {
  GPU_DYN_SHARED(uint32_t, shared);
  const int thread = threadIdx.x, other = kLanes - 1 - thread, second_half = kLanes * 4;
  ptx::CopyAsync(shared + thread * 4, source + thread * 4, true);
  ptx::CommitCopies();
  ptx::CopyAsync(shared + second_half + thread * 4, source + second_half + thread * 4,
                 thread % 2 == 0);
  ptx::CommitCopies();
  ptx::WaitForCopies<1>();
  __syncthreads();
  for (int i = 0; i < 4; ++i) first[other * 4 + i] = shared[other * 4 + i];
  ptx::WaitForCopies<0>();
  __syncthreads();
  for (int i = 0; i < 4; ++i) second[other * 4 + i] = shared[second_half + other * 4 + i];
}

TEST(Ptx, CopiesInGroups) {
  constexpr int kHalf = kLanes * 4;
  std::vector<uint32_t> numbers(2 * kHalf);
  std::iota(numbers.begin(), numbers.end(), 0x10203040u);
  const DeviceArray<uint32_t> source(numbers), first(kHalf), second(kHalf);
  Launch(nullptr, 1, kLanes, numbers.size() * sizeof(uint32_t), CopyKernel, source.data(),
         first.data(), second.data());
  EXPECT_EQ(first.Values(), std::vector<uint32_t>(numbers.begin(), numbers.begin() + kHalf));
  for (int i = 0; i < kHalf; ++i) {
    if (i / 4 % 2 == 1) numbers[kHalf + i] = 0;
  }
  EXPECT_EQ(second.Values(), std::vector<uint32_t>(numbers.begin() + kHalf, numbers.end()));
}

}  // namespace
}  // namespace gyre::cuda
