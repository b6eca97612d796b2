#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/kernels/pack.h"
#include "trainer/backend/cuda/kernels/reduce.h"

namespace gyre::cuda {
namespace {

constexpr int kMostThreads = 1024;

// A thread's packs are its own: the logits may become their gradient without anybody else seeing.
// The fast exponential errs by less than 1e-6 of the largest.
template <int N, bool kGradient, typename Narrow>
__global__ void __launch_bounds__(kMostThreads)
    CrossEntropyKernel(LogitRows in, Narrow* d_logits, float* __restrict__ nll) {
  const int64_t step = int64_t{blockDim.x} * N, begin = int64_t{threadIdx.x} * N;
  const int64_t rows = int64_t{gridDim.x} * blockDim.y;
  for (int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y; row < in.rows; row += rows) {
    const float* const logits = in.logits + row * in.stride;
    Narrow* const out = d_logits + row * in.stride;
    const int target = in.targets[row];
    if (target < 0) {
      if (threadIdx.x == 0) nll[row] = 0;
      const float zeros[N] = {};
      for (int64_t c = begin; kGradient && c < in.stride; c += step) Store<N>(zeros, out + c);
      continue;
    }
    float largest = -FLT_MAX, sum = 0;  // sum of e^(logit - largest)
    for (int64_t c = begin; c < in.vocab; c += step) {
      float at[N];
      Load<N>(logits + c, at);
      const float before = largest;
#pragma unroll
      for (int j = 0; j < N; ++j) {
        if (c + j >= in.vocab) at[j] = -INFINITY;
        largest = fmaxf(largest, at[j]);
      }
      sum *= __expf(before - largest);
#pragma unroll
      for (int j = 0; j < N; ++j) sum += __expf(at[j] - largest);
    }
    const float all = RowLargest(largest);
    sum = RowSum(sum * __expf(largest - all));
    if (target % step / N == threadIdx.x) nll[row] = logf(sum) + (all - logits[target]);
    if constexpr (kGradient) {
      const float inverse = 1 / sum;
      for (int64_t c = begin; c < in.stride; c += step) {
        float at[N];
        Load<N>(logits + c, at);
#pragma unroll
        for (int j = 0; j < N; ++j) {
          at[j] = __expf(at[j] - all) * inverse - (c + j == target ? 1 : 0);
          if (c + j >= in.vocab) at[j] = 0;
        }
        Store<N>(at, out + c);
      }
    }
  }
}

template <bool kGradient, typename Narrow>
void LaunchCrossEntropy(cudaStream_t stream, const LogitRows& in, Narrow* d_logits, float* nll) {
  if (in.rows == 0) return;
  constexpr int kN = kPack<Narrow>;
  const bool packs = Packs<kN>(in.stride, in.logits, d_logits);
  const dim3 threads = RowBlock(RowThreads(in.stride / (packs ? kN : 1), 4, kMostThreads));
  Launch(
      stream, BlocksFor(in.rows, threads.y), threads, 0,
      packs ? CrossEntropyKernel<kN, kGradient, Narrow> : CrossEntropyKernel<1, kGradient, Narrow>,
      in, d_logits, nll);
}

}  // namespace

void CrossEntropy(cudaStream_t stream, const LogitRows& in, float* nll) {
  LaunchCrossEntropy<false, float>(stream, in, nullptr, nll);
}

template <typename Narrow>
void CrossEntropyGradient(cudaStream_t stream, const LogitRows& in, Narrow* d_logits, float* nll) {
  LaunchCrossEntropy<true>(stream, in, d_logits, nll);
}

template void CrossEntropyGradient(cudaStream_t, const LogitRows&, float*, float*);
template void CrossEntropyGradient(cudaStream_t, const LogitRows&, Bf16*, float*);

}  // namespace gyre::cuda
