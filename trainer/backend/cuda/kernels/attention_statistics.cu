// What pairs supply to logits. A block has a strip of one head's queries, a warp some of them; its
// lanes have the pairs, and, once the products of a query with kTile keys are added up over the
// pairs, one key each. Floats add up the products of a tile, doubles the tiles. Queries and keys
// lie in shared memory by pairs, as floats: 16 KiB for each 64 numbers of a head.

#include "trainer/backend/cuda/kernels/attention_place.h"
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/kernels/pack.h"
#include "trainer/backend/cuda/kernels/reduce.h"
#include "trainer/backend/cuda/scratch_bytes.h"

namespace gyre::cuda {
namespace {

constexpr int kWarps = 8, kThreads = 32 * kWarps;
constexpr int kStrip = kStatisticsStrip, kOwn = kStrip / kWarps;  // queries of a block, of a warp
constexpr int kTile = 32;                                         // keys
constexpr int kScores = HeadScore::kCount;

__host__ __device__ int Parts(int length) { return (length + kStrip - 1) / kStrip; }
/// What a block leaves: contributions of the first key and of the others, scores.
__host__ __device__ int PartWidth(const AttentionShape& shape) { return shape.head_dim + kScores; }

/// A sum over the block's warps, in order, of each lane's numbers; for the first warp.
__device__ double WarpsSum(double x) {
  GPU_SHARED(double, warps, [kWarps][32]);
  const int lane = threadIdx.x % 32;
  __syncthreads();  // the last sum has been read
  warps[threadIdx.x / 32][lane] = x;
  __syncthreads();
  double sum = 0;
  if (threadIdx.x < 32) {
    for (int warp = 0; warp < kWarps; ++warp) sum += warps[warp][lane];
  }
  return sum;
}

/// A block has one head of q, k or v of a row.
template <typename Narrow>
__global__ void __launch_bounds__(kThreads)
    NormSumsKernel(AttentionShape shape, StatisticsArrays arrays, const Narrow* __restrict__ qkv) {
  const int heads = shape.heads + 2 * shape.kv_heads, pairs = shape.head_dim / 2;
  const int row = static_cast<int>(blockIdx.x) / heads, head = static_cast<int>(blockIdx.x) % heads;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, length = arrays.lengths[row];
  const int64_t stride = int64_t{heads} * shape.head_dim;
  const Narrow* const x =
      qkv + int64_t{row} * shape.length * stride + int64_t{head} * shape.head_dim;
  for (int begin = 0; begin < pairs; begin += 32) {
    const int pair = begin + lane;
    double first = 0, others = 0;
    for (int t = warp; t < length && pair < pairs; t += kWarps) {
      float a, b;
      Widen(x[t * stride + arrays.pairs[2 * pair]], &a);
      Widen(x[t * stride + arrays.pairs[2 * pair + 1]], &b);
      (t == 0 ? first : others) += sqrtf(a * a + b * b);
    }
    first = WarpsSum(first);
    others = WarpsSum(others);
    if (warp > 0 || pair >= pairs) continue;
    const bool turned = head < shape.heads + shape.kv_heads;
    const double amplitude = turned ? arrays.amplitudes[pair] : 1;
    const int64_t to = int64_t{blockIdx.x} * pairs + pair;
    arrays.first_norms[to] = static_cast<float>(first / amplitude);
    arrays.norms[to] = static_cast<float>(others / amplitude);
  }
}

/// rows (count, 2 kPairs) = first coordinates of a head's pairs, then second ones; zeros where
/// there is no pair, or the row of tokens has ended.
template <int kPairs, typename Narrow>
__device__ void LoadByPairs(const Narrow* from, int count, int left, int stride, int pairs,
                            const int32_t* coordinates, float* rows) {
  for (int n = threadIdx.x; n < count * kPairs; n += kThreads) {
    const int r = n / kPairs, k = n % kPairs;
    float a = 0, b = 0;
    if (r < left && k < pairs) {
      Widen(from[int64_t{r} * stride + coordinates[2 * k]], &a);
      Widen(from[int64_t{r} * stride + coordinates[2 * k + 1]], &b);
    }
    rows[2 * r * kPairs + k] = a;
    rows[(2 * r + 1) * kPairs + k] = b;
  }
}

/// A bit for each of the keys begin .. end - 1 of a tile; begin < kTile, end > 0.
__device__ __forceinline__ unsigned Keys(int begin, int end) {
  const unsigned from = ~0u << max(begin, 0), to = ~0u >> max(kTile - end, 0);
  return from & to;
}

/// Of the sums over lanes of x[0] .. x[31], the one with the lane's number. Destroys x.
template <int kApart = 16>
__device__ __forceinline__ float OwnSum(float (&x)[32]) {
  if constexpr (kApart == 0) {
    return x[0];
  } else {
    const bool upper = (threadIdx.x & kApart) != 0;
#pragma unroll
    for (int i = 0; i < kApart; ++i) {
      const float other = upper ? x[i] : x[i + kApart], own = upper ? x[i + kApart] : x[i];
      x[i] = own + __shfl_xor_sync(0xffffffffu, other, kApart);
    }
    return OwnSum<kApart / 2>(x);
  }
}

/// Assigns the block's part of `sums` (rows, heads, parts, PartWidth). A lane has pairs lane + 32
/// n, n < kSlots.
template <int kSlots, typename Narrow>
__global__ void __launch_bounds__(kThreads, kSlots < 4 ? 2 : 1)
    ContributionsKernel(AttentionShape shape, StatisticsArrays arrays,
                        const Narrow* __restrict__ qkv, const float* __restrict__ log_sum_exp,
                        float* __restrict__ sums) {
  constexpr int kPairs = 32 * kSlots;
  GPU_DYN_SHARED(float, shared);
  float* const query_rows = shared;
  float* const key_rows = shared + kStrip * 2 * kPairs;
  const int parts = Parts(shape.length), block = static_cast<int>(blockIdx.x);
  const int head = block / parts % shape.heads, row = block / parts / shape.heads;
  const int first = block % parts * kStrip, length = arrays.lengths[row];
  if (first >= length) return;
  const HeadPlace place(shape, row, head);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, pairs = shape.head_dim / 2;
  const float unit = 1.f / sqrtf(static_cast<float>(shape.head_dim));
  const float slope = shape.slopes != nullptr ? shape.slopes[head] : 0.f;
  LoadByPairs<kPairs>(qkv + place.query + int64_t{first} * place.stride, kStrip, length - first,
                      place.stride, pairs, arrays.pairs, query_rows);

  double of_others[kSlots] = {};
  float of_first[kSlots] = {}, scores[kScores] = {};
  const int end = min(length, first + kStrip);
  for (int tile = FirstKey(shape, row, first) / kTile * kTile; tile < end; tile += kTile) {
    __syncthreads();  // nobody needs the keys of before
    LoadByPairs<kPairs>(qkv + place.key + int64_t{tile} * place.stride, kTile, length - tile,
                        place.stride, pairs, arrays.pairs, key_rows);
    __syncthreads();
    float sizes[kSlots] = {};
    for (int o = 0; o < kOwn; ++o) {
      const int i = first + warp * kOwn + o;
      if (i >= end || tile > i) continue;
      const int begin = FirstKey(shape, row, i) - tile;
      if (begin >= kTile) continue;
      const unsigned visible = Keys(begin, i + 1 - tile);
      const unsigned first_key = tile == 0 ? visible & 1 : 0, others = visible ^ first_key;
      const float* const query = query_rows + (i - first) * 2 * kPairs + lane;
      float dots[kTile] = {};
#pragma unroll
      for (int n = 0; n < kSlots; ++n) {
        const float a = query[32 * n], b = query[32 * n + kPairs];
        const float* const key = key_rows + lane + 32 * n;
#pragma unroll
        for (int j = 0; j < kTile; ++j) {
          const float c = a * key[2 * j * kPairs] + b * key[(2 * j + 1) * kPairs];
          sizes[n] += (others & 1u << j) != 0 ? fabsf(c) : 0.f;
          if (j == 0) of_first[n] += first_key != 0 ? fabsf(c) : 0.f;
          dots[j] += c;
        }
      }
      const int distance = i - tile - lane;
      const float log_alpha = OwnSum(dots) * unit - slope * static_cast<float>(distance) -
                              log_sum_exp[(place.token + i) * shape.heads + head];
      const float alpha = (visible & 1u << lane) != 0 ? expf(log_alpha) : 0.f;
      scores[HeadScore::kDiagonal] += distance == 0 ? alpha : 0.f;
      scores[HeadScore::kPrevious] += distance == 1 ? alpha : 0.f;
      scores[HeadScore::kFirst] += tile + lane == 0 ? alpha : 0.f;
      scores[HeadScore::kEntropy] -= alpha * log_alpha;
      scores[HeadScore::kDistance] += alpha * static_cast<float>(distance);
    }
#pragma unroll
    for (int n = 0; n < kSlots; ++n) of_others[n] += sizes[n];
  }

  float* const out = sums + int64_t{block} * PartWidth(shape);
#pragma unroll
  for (int n = 0; n < kSlots; ++n) {
    const int pair = lane + 32 * n;
    const double first_sum = WarpsSum(of_first[n]), sum = WarpsSum(of_others[n]);
    if (warp > 0 || pair >= pairs) continue;
    out[pair] = static_cast<float>(first_sum * unit);
    out[pairs + pair] = static_cast<float>(sum * unit);
  }
#pragma unroll
  for (int s = 0; s < kScores; ++s) {
    const double sum = WarpReduced<Plus>(WarpsSum(scores[s]));
    if (threadIdx.x == 0) out[2 * pairs + s] = static_cast<float>(sum);
  }
}

/// Adds up the parts of one head of a row a block, in order.
__global__ void __launch_bounds__(kThreads)
    AddPartsKernel(AttentionShape shape, StatisticsArrays arrays, const float* __restrict__ sums) {
  const int pairs = shape.head_dim / 2, width = PartWidth(shape);
  const int64_t head = blockIdx.x;
  const int parts = Parts(arrays.lengths[head / shape.heads]);
  const float* const from = sums + head * Parts(shape.length) * width;
  for (int c = threadIdx.x; c < width; c += kThreads) {
    double sum = 0;
    for (int part = 0; part < parts; ++part) sum += from[int64_t{part} * width + c];
    const float total = static_cast<float>(sum);
    if (c < pairs) {
      arrays.first_contributions[head * pairs + c] = total;
    } else if (c < 2 * pairs) {
      arrays.contributions[head * pairs + c - pairs] = total;
    } else {
      arrays.scores[head * kScores + c - 2 * pairs] = total;
    }
  }
}

template <typename Narrow>
auto ContributionsFor(int slots) {
  if (slots == 1) return ContributionsKernel<1, Narrow>;
  return slots == 2 ? ContributionsKernel<2, Narrow> : ContributionsKernel<4, Narrow>;
}

}  // namespace

template <typename Narrow>
void CollectStatistics(cudaStream_t stream, const AttentionShape& shape, const Narrow* qkv,
                       const float* log_sum_exp, const StatisticsArrays& arrays, float* sums) {
  if (shape.rows == 0) return;
  const int slots = shape.head_dim <= 64 ? 1 : shape.head_dim <= 128 ? 2 : 4;
  const unsigned heads = shape.rows * shape.heads;
  const size_t shared = sizeof(float) * (kStrip + kTile) * 64 * slots;
  Launch(stream, shape.rows * (shape.heads + 2 * shape.kv_heads), kThreads, 0,
         NormSumsKernel<Narrow>, shape, arrays, qkv);
  Launch(stream, heads * Parts(shape.length), kThreads, shared, ContributionsFor<Narrow>(slots),
         shape, arrays, qkv, log_sum_exp, sums);
  Launch(stream, heads, kThreads, 0, AddPartsKernel, shape, arrays, sums);
}

int64_t StatisticsSums(const AttentionShape& shape) {
  return int64_t{shape.rows} * shape.heads * Parts(shape.length) * PartWidth(shape);
}

template void CollectStatistics(cudaStream_t, const AttentionShape&, const float*, const float*,
                                const StatisticsArrays&, float*);
template void CollectStatistics(cudaStream_t, const AttentionShape&, const Bf16*, const float*,
                                const StatisticsArrays&, float*);

}  // namespace gyre::cuda
