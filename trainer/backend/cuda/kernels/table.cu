// Rows of a table: taken for tokens, and their gradients added. For that tokens are sorted by id
// and place, so that each row of the table has one owner who adds in the order of tokens.

#include <climits>
#include <utility>

#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/kernels/pack.h"

namespace gyre::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kChunk = 1024;  // tokens sorted by one block
constexpr int kRuns = 8;      // sorted runs that become one
constexpr int kAhead = 8;     // rows read before the first is added

template <int N>
__global__ void __launch_bounds__(kThreads)
    TakeRowsKernel(int64_t tokens, int hidden, float scale, const int32_t* __restrict__ ids,
                   const float* __restrict__ table, float* __restrict__ x) {
  const int64_t c = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * N;
  if (c >= hidden) return;
  const int64_t step = int64_t{gridDim.y} * blockDim.y;
  for (int64_t n = int64_t{blockIdx.y} * blockDim.y + threadIdx.y; n < tokens; n += step) {
    float at[N];
    Load<N>(table + int64_t{ids[n]} * hidden + c, at);
#pragma unroll
    for (int j = 0; j < N; ++j) at[j] *= scale;
    Store<N>(at, x + n * hidden + c);
  }
}

// A key is id 2^32 + token; no two are the same.
__device__ __forceinline__ int64_t IdOf(int64_t key) { return key >> 32; }
__device__ __forceinline__ int64_t TokenOf(int64_t key) { return key & 0xffffffff; }

__global__ void __launch_bounds__(kChunk)
    SortChunksKernel(int64_t tokens, const int32_t* __restrict__ ids, int64_t* __restrict__ keys) {
  GPU_SHARED(int64_t, chunk, [kChunk]);
  const int64_t first = int64_t{blockIdx.x} * blockDim.x;
  const int64_t n = first + threadIdx.x;
  const int64_t key = n < tokens ? int64_t{ids[n]} << 32 | n : LLONG_MAX;
  chunk[threadIdx.x] = key;
  __syncthreads();
  if (n >= tokens) return;
  int before = 0;
#pragma unroll 8
  for (int i = 0; i < static_cast<int>(blockDim.x); ++i) before += chunk[i] < key ? 1 : 0;
  keys[first + before] = key;
}

// Each kRuns neighbouring sorted runs become one: a key's place is the number of keys below it.
__global__ void __launch_bounds__(kThreads)
    MergeRunsKernel(int64_t tokens, int64_t run, const int64_t* __restrict__ keys,
                    int64_t* __restrict__ merged) {
  const int64_t n = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (n >= tokens) return;
  const int64_t key = keys[n];
  const int64_t first = n / (run * kRuns) * (run * kRuns);
  int64_t place = first;
  for (int i = 0; i < kRuns; ++i) {
    const int64_t begin = first + i * run;
    int64_t low = begin, high = begin + run;
    if (high > tokens) high = tokens;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (keys[middle] < key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    place += low - begin;
  }
  merged[place] = key;
}

template <int N>
__global__ void __launch_bounds__(kThreads)
    AddRowsKernel(int64_t tokens, int hidden, float scale, const int64_t* __restrict__ keys,
                  const float* __restrict__ dx, float* __restrict__ d_table) {
  const int64_t c = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * N;
  if (c >= hidden) return;
  const int64_t step = int64_t{gridDim.y} * blockDim.y;
  for (int64_t n = int64_t{blockIdx.y} * blockDim.y + threadIdx.y; n < tokens; n += step) {
    const int64_t id = IdOf(keys[n]);
    if (n > 0 && IdOf(keys[n - 1]) == id) continue;  // its row has an owner
    float* const row = d_table + id * hidden + c;
    float sum[N];
    Load<N>(row, sum);
    bool more = true;
    for (int64_t next = n; more; next += kAhead) {
      float d[kAhead][N];
      int same = 0;
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        const int64_t key = next + i < tokens ? keys[next + i] : -1;
        if (IdOf(key) != id) continue;
        same = i + 1;
        Load<N>(dx + TokenOf(key) * hidden + c, d[i]);
      }
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
#pragma unroll
        for (int j = 0; j < N; ++j) sum[j] = i < same ? sum[j] + scale * d[i][j] : sum[j];
      }
      more = same == kAhead;
    }
    Store<N>(sum, row);
  }
}

}  // namespace

void TakeRows(cudaStream_t stream, int64_t tokens, int hidden, float scale, const int32_t* ids,
              const float* table, float* x) {
  if (tokens == 0) return;
  constexpr int kN = kPack<float>;
  const bool packs = Packs<kN>(hidden, table, x);
  const ColumnGrid grid(tokens, packs ? hidden / kN : hidden, kThreads);
  Launch(stream, grid.blocks, grid.threads, 0, packs ? TakeRowsKernel<kN> : TakeRowsKernel<1>,
         tokens, hidden, scale, ids, table, x);
}

void AddRows(cudaStream_t stream, int64_t tokens, int hidden, float scale, const int32_t* ids,
             const float* dx, int64_t* order, float* d_table) {
  if (tokens == 0) return;
  const int chunk = static_cast<int>(std::min<int64_t>((tokens + 31) / 32 * 32, kChunk));
  int64_t *keys = order, *merged = order + tokens;
  Launch(stream, static_cast<unsigned>((tokens + chunk - 1) / chunk), chunk, 0, SortChunksKernel,
         tokens, ids, keys);
  for (int64_t run = chunk; run < tokens; run *= kRuns) {
    Launch(stream, static_cast<unsigned>((tokens + kThreads - 1) / kThreads), kThreads, 0,
           MergeRunsKernel, tokens, run, keys, merged);
    std::swap(keys, merged);
  }
  constexpr int kN = kPack<float>;
  const bool packs = Packs<kN>(hidden, dx, d_table);
  const ColumnGrid grid(tokens, packs ? hidden / kN : hidden, kThreads);
  Launch(stream, grid.blocks, grid.threads, 0, packs ? AddRowsKernel<kN> : AddRowsKernel<1>, tokens,
         hidden, scale, keys, dx, d_table);
}

int64_t AddRowsScratch(int64_t tokens) { return 2 * tokens; }

}  // namespace gyre::cuda
