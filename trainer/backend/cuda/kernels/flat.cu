// Loops over flat arrays: the optimizer and norms.

#include <cmath>

#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/kernels/pack.h"
#include "trainer/backend/cuda/kernels/reduce.h"

namespace gyre::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kSums = 132 * 8;  // as many blocks at most as that

template <int N>
__global__ void __launch_bounds__(kThreads)
    SquaresKernel(const float* __restrict__ x, int64_t count, double* __restrict__ sums) {
  double squares = 0;
  ForPacks<N>(count, [&]<int kSize>(Size<kSize>, int64_t i) {
    float at[kSize];
    Load<kSize>(x + i, at);
#pragma unroll
    for (int j = 0; j < kSize; ++j) squares += double{at[j]} * double{at[j]};
  });
  squares = RowSum(squares);
  if (threadIdx.x == 0) sums[blockIdx.x] = squares;
}

__global__ void __launch_bounds__(kThreads)
    RootKernel(const double* __restrict__ sums, int count, float* __restrict__ norm) {
  double squares = 0;
  for (int i = threadIdx.x; i < count; i += kThreads) squares += sums[i];
  squares = RowSum(squares);
  if (threadIdx.x == 0) *norm = static_cast<float>(sqrt(squares));
}

struct AdamWConstants {
  float gradient_scale = 0, clip_norm = 0;
  float beta1 = 0, beta2 = 0, rest1 = 0, rest2 = 0;  // rest: 1 - beta
  float correction1 = 0, correction2 = 0;            // what m and v are multiplied with
  float lr = 0, epsilon = 0, weight_decay = 0;
};

// What a gradient is multiplied with before it enters AdamW.
__device__ __forceinline__ float ClippedScale(const AdamWConstants& k, float unscaled_norm) {
  const float norm = unscaled_norm * k.gradient_scale;
  if (!(norm <= FLT_MAX)) return NAN;
  const bool clips = k.clip_norm > 0 && norm > k.clip_norm;
  return clips ? k.gradient_scale * (k.clip_norm / norm) : k.gradient_scale;
}

template <int N>
__global__ void __launch_bounds__(kThreads)
    AdamWKernel(AdamWConstants k, int64_t count, AdamWArrays arrays) {
  const float scale = ClippedScale(k, *arrays.gradient_norm);
  ForPacks<N>(count, [&]<int kSize>(Size<kSize>, int64_t i) {
    float g[kSize], m[kSize], v[kSize], w[kSize];
    Load<kSize>(arrays.gradient + i, g);
    Load<kSize>(arrays.first_moment + i, m);
    Load<kSize>(arrays.second_moment + i, v);
    Load<kSize>(arrays.weight + i, w);
#pragma unroll
    for (int j = 0; j < kSize; ++j) {
      const float scaled = scale * g[j];
      m[j] = k.beta1 * m[j] + k.rest1 * scaled;
      v[j] = k.beta2 * v[j] + k.rest2 * scaled * scaled;
      const float direction = m[j] * k.correction1 / (sqrtf(v[j] * k.correction2) + k.epsilon);
      w[j] -= k.lr * (direction + k.weight_decay * w[j]);
    }
    Store<kSize>(m, arrays.first_moment + i);
    Store<kSize>(v, arrays.second_moment + i);
    Store<kSize>(w, arrays.weight + i);
    if (arrays.narrow_weight != nullptr) Store<kSize>(w, arrays.narrow_weight + i);
  });
}

}  // namespace

void Norm2(cudaStream_t stream, const float* x, int64_t count, double* sums, float* norm) {
  constexpr int kN = kPack<float>;
  const bool packs = PacksBegin<kN>(x);
  const int blocks = std::min(BlocksFor(packs ? count / kN : count, kThreads), kSums);
  Launch(stream, blocks, kThreads, 0, packs ? SquaresKernel<kN> : SquaresKernel<1>, x, count, sums);
  Launch(stream, 1, kThreads, 0, RootKernel, sums, blocks, norm);
}

int64_t Norm2Sums() { return kSums; }

void AdamWUpdate(cudaStream_t stream, const AdamW& op, const AdamWArrays& arrays) {
  if (op.count == 0) return;
  const double steps = static_cast<double>(op.step);
  AdamWConstants k;
  k.gradient_scale = static_cast<float>(op.gradient_scale);
  k.clip_norm = static_cast<float>(op.clip_norm);
  k.beta1 = static_cast<float>(op.beta1);
  k.beta2 = static_cast<float>(op.beta2);
  k.rest1 = static_cast<float>(1 - op.beta1);
  k.rest2 = static_cast<float>(1 - op.beta2);
  k.correction1 = static_cast<float>(1 / (1 - std::pow(op.beta1, steps)));
  k.correction2 = static_cast<float>(1 / (1 - std::pow(op.beta2, steps)));
  k.lr = static_cast<float>(op.lr);
  k.epsilon = static_cast<float>(op.epsilon);
  k.weight_decay = static_cast<float>(op.weight_decay);
  constexpr int kN = kPack<float>;
  const bool packs = PacksBegin<kN>(arrays.gradient, arrays.weight, arrays.first_moment,
                                    arrays.second_moment, arrays.narrow_weight);
  Launch(stream, BlocksFor(packs ? op.count / kN : op.count, kThreads), kThreads, 0,
         packs ? AdamWKernel<kN> : AdamWKernel<1>, k, op.count, arrays);
}

}  // namespace gyre::cuda
