#pragma once

// Numbers on their way between memory and registers, several at a time: N neighbours by accesses of
// 16 bytes (or of N elements, if those are less), as floats whatever they are in memory. Packs()
// tells on the host whether addresses and widths allow that; N = 1 always works.

#include <cstdint>

#include "trainer/backend/cuda/kernels/gpu.h"

namespace gyre::cuda {

/// The widest pack that one access can write.
template <typename T>
constexpr int kPack = 16 / sizeof(T);

template <typename T, int N>
constexpr int kPackOf = N < kPack<T> ? N : kPack<T>;

/// Whether packs may begin at these addresses.
template <int N, typename... T>
bool PacksBegin(const T*... at) {
  return ((reinterpret_cast<uintptr_t>(at) % (kPackOf<T, N> * sizeof(T)) == 0) && ...);
}

/// Whether rows of `width` elements, the first of which begin at these addresses, are whole packs.
template <int N, typename... T>
bool Packs(int64_t width, const T*... rows) {
  return width % N == 0 && PacksBegin<N>(rows...);
}

template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
  T e[N];
};

__device__ __forceinline__ void Widen(float x, float* y) { *y = x; }
__device__ __forceinline__ void Widen(__nv_bfloat16 x, float* y) { *y = __bfloat162float(x); }

__device__ __forceinline__ void Round(const float* x, int count, float* y) {
#pragma unroll
  for (int i = 0; i < count; ++i) y[i] = x[i];
}
__device__ __forceinline__ void Round(const float* x, int count, __nv_bfloat16* y) {
  if (count == 1) {
    *y = __float2bfloat16_rn(*x);
    return;
  }
#pragma unroll
  for (int i = 0; i < count; i += 2) {
    const __nv_bfloat162 two = __floats2bfloat162_rn(x[i], x[i + 1]);
    y[i] = two.x;
    y[i + 1] = two.y;
  }
}

/// x (N) = p (N).
template <int N, typename T>
__device__ __forceinline__ void Load(const T* p, float* x) {
  constexpr int kSize = kPackOf<T, N>;
#pragma unroll
  for (int i = 0; i < N; i += kSize) {
    const auto pack = *reinterpret_cast<const Pack<T, kSize>*>(p + i);
#pragma unroll
    for (int j = 0; j < kSize; ++j) Widen(pack.e[j], x + i + j);
  }
}

/// p (N) = x (N), rounded to nearest, ties to even.
template <int N, typename T>
__device__ __forceinline__ void Store(const float* x, T* p) {
  constexpr int kSize = kPackOf<T, N>;
#pragma unroll
  for (int i = 0; i < N; i += kSize) {
    Pack<T, kSize> pack;
    Round(x + i, kSize, pack.e);
    *reinterpret_cast<Pack<T, kSize>*>(p + i) = pack;
  }
}

template <int N>
struct Size {};

/// Deals `count` numbers to all threads of the grid (of one dimension): calls work(Size<N>, first)
/// for packs of N, and work(Size<1>, first) for what is left.
template <int N, typename Work>
__device__ __forceinline__ void ForPacks(int64_t count, const Work& work) {
  const int64_t thread = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t threads = int64_t{gridDim.x} * blockDim.x;
  const int64_t packs = count / N;
  for (int64_t i = thread; i < packs; i += threads) {
    work(Size<N>{}, i * N);
  }
  const int64_t left = packs * N + thread;
  if (N > 1 && left < count) work(Size<1>{}, left);
}

}  // namespace gyre::cuda
