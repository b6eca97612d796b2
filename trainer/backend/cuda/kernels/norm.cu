#include <algorithm>

#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/kernels/pack.h"
#include "trainer/backend/cuda/kernels/reduce.h"

namespace gyre::cuda {
namespace {

constexpr int kMostThreads = 256;
constexpr int64_t kMostParts = 132 * 4;
constexpr int64_t kRowsPerPart = 4;        // at least, so that sums are little beside rows
constexpr int64_t kMostShared = 96 << 10;  // bytes, on any device

// What is added to a weight to give the gain.
float PlusOf(const NormKind& kind) { return kind.one_plus ? 1 : 0; }

int Threads(int width, int n) { return RowThreads(width / n, 8, kMostThreads); }

template <int N, bool kAgain, typename Narrow>
__global__ void __launch_bounds__(kMostThreads)
    NormalizeKernel(const float* __restrict__ x, const float* __restrict__ weight, float plus,
                    int64_t rows, int width, float epsilon, Narrow* __restrict__ y,
                    float* __restrict__ inverse_rms) {
  const int step = blockDim.x * N;
  const int64_t at_once = int64_t{gridDim.x} * blockDim.y;
  for (int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y; row < rows; row += at_once) {
    const float* const from = x + row * width;
    float inverse = 0;
    if constexpr (kAgain) {
      inverse = inverse_rms[row];
    } else {
      float squares = 0;
      for (int c = threadIdx.x * N; c < width; c += step) {
        float at[N];
        Load<N>(from + c, at);
#pragma unroll
        for (int j = 0; j < N; ++j) squares += at[j] * at[j];
      }
      inverse = InverseRms(RowSum(squares), width, epsilon);
      if (threadIdx.x == 0) inverse_rms[row] = inverse;
    }
    for (int c = threadIdx.x * N; c < width; c += step) {
      float at[N], gain[N];
      Load<N>(from + c, at);
      Load<N>(weight + c, gain);
#pragma unroll
      for (int j = 0; j < N; ++j) at[j] = (gain[j] + plus) * (at[j] * inverse);
      Store<N>(at, y + row * width + c);
    }
  }
}

// Each block keeps its own sums for d_weight, in shared memory (one row of them for every row of
// the block) or, where they are too wide for it, in `sums` itself. A thread's columns stay its own.
template <int N>
__global__ void __launch_bounds__(kMostThreads, 4)
    NormalizeBackwardKernel(const float* __restrict__ x, const float* __restrict__ weight,
                            float plus, int64_t rows, int width,
                            const float* __restrict__ inverse_rms, const float* __restrict__ dy,
                            bool add, float* __restrict__ dx, bool shared,
                            float* __restrict__ sums) {
  GPU_DYN_SHARED(float, shared_sums);
  const int step = blockDim.x * N;
  float* block_sums = sums + int64_t{blockIdx.x} * width;
  float* const own_sums = shared ? shared_sums + threadIdx.y * width : block_sums;
  for (int c = threadIdx.x * N; c < width; c += step) {
    const float zeros[N] = {};
    Store<N>(zeros, own_sums + c);
  }
  const int64_t at_once = int64_t{gridDim.x} * blockDim.y;
  for (int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y; row < rows; row += at_once) {
    const float* const x_row = x + row * width;
    const float* const dy_row = dy + row * width;
    const float inverse = inverse_rms[row];
    float along = 0;  // how much dy would lengthen x
    for (int c = threadIdx.x * N; c < width; c += step) {
      float at[N], d[N], gain[N];
      Load<N>(x_row + c, at);
      Load<N>(dy_row + c, d);
      Load<N>(weight + c, gain);
#pragma unroll
      for (int j = 0; j < N; ++j) along += d[j] * (gain[j] + plus) * at[j];
    }
    const float pull = RowSum(along) * inverse * inverse / width;
    for (int c = threadIdx.x * N; c < width; c += step) {
      float at[N], d[N], gain[N], out[N] = {}, sum[N];
      Load<N>(x_row + c, at);
      Load<N>(dy_row + c, d);
      Load<N>(weight + c, gain);
      if (add) Load<N>(dx + row * width + c, out);
      Load<N>(own_sums + c, sum);
#pragma unroll
      for (int j = 0; j < N; ++j) {
        out[j] += inverse * ((gain[j] + plus) * d[j] - pull * at[j]);
        sum[j] += d[j] * (at[j] * inverse);
      }
      Store<N>(out, dx + row * width + c);
      Store<N>(sum, own_sums + c);
    }
  }
  if (!shared) return;
  __syncthreads();
  for (int c = threadIdx.y * blockDim.x + threadIdx.x; c < width; c += blockDim.x * blockDim.y) {
    float sum = shared_sums[c];
    for (unsigned i = 1; i < blockDim.y; ++i) sum += shared_sums[i * width + c];
    block_sums[c] = sum;
  }
}

template <bool kAgain, typename Narrow>
void LaunchNormalize(cudaStream_t stream, const NormRows& in, Narrow* y, float* inverse_rms) {
  if (in.rows == 0) return;
  constexpr int kN = kPack<Narrow>;
  const bool packs = Packs<kN>(in.width, in.x, in.weight, y);
  const dim3 threads = RowBlock(Threads(in.width, packs ? kN : 1));
  Launch(stream, BlocksFor(in.rows, threads.y), threads, 0,
         packs ? NormalizeKernel<kN, kAgain, Narrow> : NormalizeKernel<1, kAgain, Narrow>, in.x,
         in.weight, PlusOf(in.kind), in.rows, in.width, static_cast<float>(in.kind.epsilon), y,
         inverse_rms);
}

int64_t Parts(int64_t rows, int64_t rows_per_block) {
  const int64_t each = kRowsPerPart * rows_per_block;
  return std::clamp<int64_t>((rows + each - 1) / each, 1, kMostParts);
}

}  // namespace

template <typename Narrow>
void Normalize(cudaStream_t stream, const NormRows& in, Narrow* y, float* inverse_rms) {
  LaunchNormalize<false>(stream, in, y, inverse_rms);
}

template <typename Narrow>
void NormalizeAgain(cudaStream_t stream, const NormRows& in, const float* inverse_rms, Narrow* y) {
  LaunchNormalize<true>(stream, in, y, const_cast<float*>(inverse_rms));  // only read
}

void NormalizeBackward(cudaStream_t stream, const NormRows& in, const float* inverse_rms,
                       const float* dy, bool add, float* dx, float* sums, float* d_weight) {
  if (in.rows == 0) return;
  constexpr int kN = kPack<float>;
  const bool packs = Packs<kN>(in.width, in.x, in.weight, dy, dx, sums);
  const dim3 threads = RowBlock(Threads(in.width, packs ? kN : 1));
  const int64_t parts = Parts(in.rows, threads.y);
  const int64_t bytes = int64_t{threads.y} * in.width * static_cast<int64_t>(sizeof(float));
  const bool shared = bytes <= kMostShared;
  Launch(stream, static_cast<unsigned>(parts), threads, shared ? bytes : 0,
         packs ? NormalizeBackwardKernel<kN> : NormalizeBackwardKernel<1>, in.x, in.weight,
         PlusOf(in.kind), in.rows, in.width, inverse_rms, dy, add, dx, shared, sums);
  AddColumnSums(stream, sums, parts, in.width, in.width, d_weight);
}

int64_t NormSums(int64_t rows, int width) { return Parts(rows, 1) * width; }

template void Normalize(cudaStream_t, const NormRows&, float*, float*);
template void Normalize(cudaStream_t, const NormRows&, Bf16*, float*);
template void NormalizeAgain(cudaStream_t, const NormRows&, const float*, float*);
template void NormalizeAgain(cudaStream_t, const NormRows&, const float*, Bf16*);

}  // namespace gyre::cuda
