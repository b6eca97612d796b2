// Attention in float32, for checks on a GPU: no tensor cores, but tiles in shared memory, so that a
// few thousand tokens are no trouble. A warp owns kOwn rows (queries, or keys in the backward pass
// over them); each of its lanes has one row of the other side in turn, then some of the columns.

#include "trainer/backend/cuda/kernels/attention_place.h"
#include "trainer/backend/cuda/kernels/launch.h"

namespace gyre::cuda {
namespace {

constexpr int kWarps = 4, kThreads = 32 * kWarps;
constexpr int kOwn = 4, kBlockRows = kWarps * kOwn;
constexpr int kOther = 32;  // rows of a tile of the other side: one a lane
constexpr int kColumns = kMaxHeadDim / 32;

/// One row, spread over the lanes: columns lane + 32 n.
using Columns = float[kColumns];

/// Rows of one head, `to_stride` apart; zeros where the row of tokens has ended.
__device__ void LoadRows(int wanted, const float* from, int rows, int stride, int dim, float* to,
                         int to_stride) {
  for (int i = threadIdx.x; i < wanted * dim; i += kThreads) {
    const int r = i / dim, c = i % dim;
    to[r * to_stride + c] = r < rows ? from[int64_t{r} * stride + c] : 0.f;
  }
}

__device__ float Dot(const float* a, const float* b, int dim) {
  float sum = 0;
  for (int c = 0; c < dim; ++c) sum += a[c] * b[c];
  return sum;
}

/// sum = sum * before + weights tile.
__device__ void AddRows(const float* weights, const float* tile, int dim, float before,
                        Columns& sum) {
#pragma unroll
  for (int n = 0; n < kColumns; ++n) {
    const int c = threadIdx.x % 32 + 32 * n;
    if (c >= dim) break;
    float added = 0;
    for (int k = 0; k < kOther; ++k) added += weights[k] * tile[k * (dim + 1) + c];
    sum[n] = sum[n] * before + added;
  }
}

__device__ void StoreColumns(const Columns& columns, float scale, int dim, float* to) {
#pragma unroll
  for (int n = 0; n < kColumns; ++n) {
    const int c = threadIdx.x % 32 + 32 * n;
    if (c < dim) to[c] = columns[n] * scale;
  }
}

__device__ float WarpSum(float x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    x += __shfl_xor_sync(0xffffffffu, x, distance);
  }
  return x;
}
__device__ float WarpMax(float x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, distance));
  }
  return x;
}

/// What a block has to do: its rows of one head.
struct OwnRows {
  __device__ OwnRows(const AttentionShape& shape, int heads) {
    const int tiles = (shape.length + kBlockRows - 1) / kBlockRows;
    const int block = static_cast<int>(blockIdx.x);
    first = block % tiles * kBlockRows;
    head = block / tiles % heads;
    row = block / tiles / heads;
  }
  int first, head, row;
};

__global__ void __launch_bounds__(kThreads)
    PlainForwardKernel(AttentionShape shape, const float* __restrict__ qkv,
                       float* __restrict__ output, float* __restrict__ log_sum_exp) {
  GPU_DYN_SHARED(float, shared);
  GPU_SHARED(float, weights, [kWarps][kOther]);
  const int length = shape.length, dim = shape.head_dim, tile_stride = dim + 1;
  float* const q_rows = shared;
  float* const k_tile = q_rows + kBlockRows * dim;
  float* const v_tile = k_tile + kOther * tile_stride;
  const OwnRows own(shape, shape.heads);
  const HeadPlace place(shape, own.row, own.head);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const float unit = 1.f / sqrtf(static_cast<float>(dim));
  const float slope = shape.slopes != nullptr ? shape.slopes[own.head] : 0.f;
  LoadRows(kBlockRows, qkv + place.query + int64_t{own.first} * place.stride, length - own.first,
           place.stride, dim, q_rows, dim);

  Columns sum[kOwn] = {};
  float largest[kOwn], total[kOwn];
  for (int o = 0; o < kOwn; ++o) largest[o] = -INFINITY, total[o] = 0;
  const int end = min(length, own.first + kBlockRows);
  for (int first_key = FirstKey(shape, own.row, own.first); first_key < end; first_key += kOther) {
    __syncthreads();  // nobody needs the keys of before
    const int64_t at = int64_t{first_key} * place.stride;
    LoadRows(kOther, qkv + place.key + at, length - first_key, place.stride, dim, k_tile,
             tile_stride);
    LoadRows(kOther, qkv + place.value + at, length - first_key, place.stride, dim, v_tile,
             tile_stride);
    __syncthreads();
#pragma unroll
    for (int o = 0; o < kOwn; ++o) {
      const int i = own.first + warp * kOwn + o, j = first_key + lane;
      if (i >= length || first_key > i) continue;
      const float dot = Dot(q_rows + (i - own.first) * dim, k_tile + lane * tile_stride, dim);
      const bool visible = j <= i && j >= FirstKey(shape, own.row, i);
      const float logit = visible ? dot * unit + slope * static_cast<float>(j - i) : -INFINITY;
      const float before = largest[o];
      largest[o] = fmaxf(before, WarpMax(logit));
      // While a query has seen no key, infinity minus infinity would make it NaN.
      const float base = largest[o] == -INFINITY ? 0.f : largest[o];
      const float weight = expf(logit - base), correction = expf(before - base);
      total[o] = total[o] * correction + WarpSum(weight);
      weights[warp][lane] = weight;
      __syncwarp();
      AddRows(weights[warp], v_tile, dim, correction, sum[o]);
      __syncwarp();
    }
  }
#pragma unroll
  for (int o = 0; o < kOwn; ++o) {
    const int i = own.first + warp * kOwn + o;
    if (i >= length) continue;
    if (lane == 0) {
      log_sum_exp[(place.token + i) * shape.heads + own.head] = largest[o] + logf(total[o]);
    }
    StoreColumns(sum[o], 1.f / total[o], dim,
                 output + place.output + int64_t{i} * place.output_stride);
  }
}

/// Assigns the gradients of queries, and `means` (tokens, heads): sum_j alpha_j d_alpha_j, which is
/// the product of the output and its gradient.
__global__ void __launch_bounds__(kThreads)
    PlainQueryGradientKernel(AttentionShape shape, const float* __restrict__ qkv,
                             const float* __restrict__ output,
                             const float* __restrict__ log_sum_exp,
                             const float* __restrict__ d_output, float* __restrict__ means,
                             float* __restrict__ d_qkv) {
  GPU_DYN_SHARED(float, shared);
  GPU_SHARED(float, weights, [kWarps][kOther]);
  const int length = shape.length, dim = shape.head_dim, tile_stride = dim + 1;
  float* const q_rows = shared;
  float* const d_rows = q_rows + kBlockRows * dim;
  float* const k_tile = d_rows + kBlockRows * dim;
  float* const v_tile = k_tile + kOther * tile_stride;
  const OwnRows own(shape, shape.heads);
  const HeadPlace place(shape, own.row, own.head);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const float unit = 1.f / sqrtf(static_cast<float>(dim));
  const float slope = shape.slopes != nullptr ? shape.slopes[own.head] : 0.f;
  const int64_t output_at = place.output + int64_t{own.first} * place.output_stride;
  LoadRows(kBlockRows, qkv + place.query + int64_t{own.first} * place.stride, length - own.first,
           place.stride, dim, q_rows, dim);
  LoadRows(kBlockRows, d_output + output_at, length - own.first, place.output_stride, dim, d_rows,
           dim);
  __syncthreads();

  Columns d_query[kOwn] = {};
  float mean[kOwn], log_sum[kOwn];
#pragma unroll
  for (int o = 0; o < kOwn; ++o) {
    const int r = warp * kOwn + o, i = own.first + r;
    if (i >= length) continue;
    const float* out = output + output_at + int64_t{r} * place.output_stride;
    float part = 0;
    for (int c = lane; c < dim; c += 32) part += out[c] * d_rows[r * dim + c];
    mean[o] = WarpSum(part);
    const int64_t at = (place.token + i) * shape.heads + own.head;
    log_sum[o] = log_sum_exp[at];
    if (lane == 0) means[at] = mean[o];
  }

  const int end = min(length, own.first + kBlockRows);
  for (int first_key = FirstKey(shape, own.row, own.first); first_key < end; first_key += kOther) {
    __syncthreads();  // nobody needs the keys of before
    const int64_t at = int64_t{first_key} * place.stride;
    LoadRows(kOther, qkv + place.key + at, length - first_key, place.stride, dim, k_tile,
             tile_stride);
    LoadRows(kOther, qkv + place.value + at, length - first_key, place.stride, dim, v_tile,
             tile_stride);
    __syncthreads();
#pragma unroll
    for (int o = 0; o < kOwn; ++o) {
      const int r = warp * kOwn + o, i = own.first + r, j = first_key + lane;
      if (i >= length || first_key > i) continue;
      float d_dot = 0;
      if (j <= i && j >= FirstKey(shape, own.row, i)) {
        const float dot = Dot(q_rows + r * dim, k_tile + lane * tile_stride, dim);
        const float alpha = expf(dot * unit + slope * static_cast<float>(j - i) - log_sum[o]);
        d_dot = alpha * (Dot(d_rows + r * dim, v_tile + lane * tile_stride, dim) - mean[o]);
      }
      weights[warp][lane] = d_dot;
      __syncwarp();
      AddRows(weights[warp], k_tile, dim, 1.f, d_query[o]);
      __syncwarp();
    }
  }
#pragma unroll
  for (int o = 0; o < kOwn; ++o) {
    const int i = own.first + warp * kOwn + o;
    if (i >= length) continue;
    StoreColumns(d_query[o], unit, dim, d_qkv + place.query + int64_t{i} * place.stride);
  }
}

/// Assigns the gradients of keys and values, summed over the query heads of their group.
__global__ void __launch_bounds__(kThreads)
    PlainKeyGradientKernel(AttentionShape shape, const float* __restrict__ qkv,
                           const float* __restrict__ log_sum_exp,
                           const float* __restrict__ d_output, const float* __restrict__ means,
                           float* __restrict__ d_qkv) {
  GPU_DYN_SHARED(float, shared);
  GPU_SHARED(float, alphas, [kWarps][kOther]);
  GPU_SHARED(float, d_dots, [kWarps][kOther]);
  const int length = shape.length, dim = shape.head_dim, tile_stride = dim + 1;
  float* const k_rows = shared;
  float* const v_rows = k_rows + kBlockRows * dim;
  float* const q_tile = v_rows + kBlockRows * dim;
  float* const d_tile = q_tile + kOther * tile_stride;
  const OwnRows own(shape, shape.kv_heads);
  const int group = shape.heads / shape.kv_heads, first_head = own.head * group;
  const HeadPlace keys(shape, own.row, first_head);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const float unit = 1.f / sqrtf(static_cast<float>(dim));
  const int64_t keys_at = int64_t{own.first} * keys.stride;
  LoadRows(kBlockRows, qkv + keys.key + keys_at, length - own.first, keys.stride, dim, k_rows, dim);
  LoadRows(kBlockRows, qkv + keys.value + keys_at, length - own.first, keys.stride, dim, v_rows,
           dim);

  Columns d_key[kOwn] = {}, d_value[kOwn] = {};
  const int last_key = min(length, own.first + kBlockRows) - 1;
  const int end = EndOfQueries(shape, own.row, own.first, last_key);
  for (int head = first_head; head < first_head + group; ++head) {
    const HeadPlace place(shape, own.row, head);
    const float slope = shape.slopes != nullptr ? shape.slopes[head] : 0.f;
    for (int first_query = own.first; first_query < end; first_query += kOther) {
      __syncthreads();  // nobody needs the queries of before
      LoadRows(kOther, qkv + place.query + int64_t{first_query} * place.stride,
               length - first_query, place.stride, dim, q_tile, tile_stride);
      LoadRows(kOther, d_output + place.output + int64_t{first_query} * place.output_stride,
               length - first_query, place.output_stride, dim, d_tile, tile_stride);
      __syncthreads();
      const int i = first_query + lane;
      const int64_t at = (place.token + i) * shape.heads + head;
      const float log_sum = i < length ? log_sum_exp[at] : 0.f, mean = i < length ? means[at] : 0.f;
      const int sees_from = i < length ? FirstKey(shape, own.row, i) : length;
#pragma unroll
      for (int o = 0; o < kOwn; ++o) {
        const int r = warp * kOwn + o, j = own.first + r;
        float alpha = 0, d_dot = 0;
        if (j <= i && j >= sees_from) {
          const float dot = Dot(k_rows + r * dim, q_tile + lane * tile_stride, dim);
          alpha = expf(dot * unit + slope * static_cast<float>(j - i) - log_sum);
          d_dot = alpha * (Dot(v_rows + r * dim, d_tile + lane * tile_stride, dim) - mean);
        }
        alphas[warp][lane] = alpha;
        d_dots[warp][lane] = d_dot;
        __syncwarp();
        AddRows(alphas[warp], d_tile, dim, 1.f, d_value[o]);
        AddRows(d_dots[warp], q_tile, dim, 1.f, d_key[o]);
        __syncwarp();
      }
    }
  }
#pragma unroll
  for (int o = 0; o < kOwn; ++o) {
    const int j = own.first + warp * kOwn + o;
    if (j >= length) continue;
    const int64_t at = int64_t{j} * keys.stride;
    StoreColumns(d_key[o], unit, dim, d_qkv + keys.key + at);
    StoreColumns(d_value[o], 1.f, dim, d_qkv + keys.value + at);
  }
}

unsigned Blocks(const AttentionShape& shape, int heads) {
  const unsigned tiles = (shape.length + kBlockRows - 1) / kBlockRows;
  return tiles * heads * shape.rows;
}

/// Two tiles of the other side and `own` times the block's rows.
size_t SharedBytes(const AttentionShape& shape, int own) {
  return sizeof(float) * (own * kBlockRows * shape.head_dim + 2 * kOther * (shape.head_dim + 1));
}

}  // namespace

template <>
void AttentionForward(cudaStream_t stream, const AttentionShape& shape, const float* qkv,
                      float* output, float* log_sum_exp) {
  if (shape.rows == 0 || shape.length == 0) return;
  Launch(stream, Blocks(shape, shape.heads), kThreads, SharedBytes(shape, 1), PlainForwardKernel,
         shape, qkv, output, log_sum_exp);
}

template <>
void AttentionBackward(cudaStream_t stream, const AttentionShape& shape, const float* qkv,
                       const float* output, const float* log_sum_exp, const float* d_output,
                       float* sums, float* d_qkv) {
  if (shape.rows == 0 || shape.length == 0) return;
  Launch(stream, Blocks(shape, shape.heads), kThreads, SharedBytes(shape, 2),
         PlainQueryGradientKernel, shape, qkv, output, log_sum_exp, d_output, sums, d_qkv);
  Launch(stream, Blocks(shape, shape.kv_heads), kThreads, SharedBytes(shape, 2),
         PlainKeyGradientKernel, shape, qkv, log_sum_exp, d_output, sums, d_qkv);
}

}  // namespace gyre::cuda
