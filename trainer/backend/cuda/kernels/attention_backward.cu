// FlashAttention-2 backward without atomics, so that it gives the same bits each time: one kernel
// sums the gradients of keys and values over the queries, another one those of queries over the
// keys. Both compute the scores again; weights and their gradients never leave registers.

#include "trainer/backend/cuda/kernels/attention_tiles.h"
#include "trainer/backend/cuda/kernels/launch.h"

namespace gyre::cuda {
namespace {

/// What backward knows of each query, (rows, heads, length): its log_sum_exp as a power of two, and
/// sum_j alpha_j d_alpha_j, which is the product of the output and its gradient.
struct QuerySums {
  float* log2_sum = nullptr;
  float* mean = nullptr;
};

/// A warp per token and head.
__global__ void __launch_bounds__(kTileThreads)
    QuerySumsKernel(AttentionShape shape, int64_t count, const Bf16* __restrict__ output,
                    const float* __restrict__ log_sum_exp, const Bf16* __restrict__ d_output,
                    QuerySums sums) {
  const int64_t at = int64_t{blockIdx.x} * kTileWarps + threadIdx.x / 32;
  if (at >= count) return;
  const int lane = threadIdx.x % 32;
  float mean = 0;
  for (int c = lane; c < shape.head_dim; c += 32) {
    const int64_t element = at * shape.head_dim + c;
    mean += __bfloat162float(output[element]) * __bfloat162float(d_output[element]);
  }
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    mean += __shfl_xor_sync(0xffffffffu, mean, distance);
  }
  if (lane != 0) return;
  const int64_t token = at / shape.heads, head = at % shape.heads;
  const int64_t row = token / shape.length, i = token % shape.length;
  const int64_t to = (row * shape.heads + head) * shape.length + i;
  sums.log2_sum[to] = log_sum_exp[at] * kLog2E;
  sums.mean[to] = mean;
}

/// A block takes 64 kBands keys, and kColumns of the columns of their gradients; it walks over the
/// queries that see any of them, head by head. Scores are transposed: keys are rows.
template <int kWidth, int kColumns, int kBands, int kQueries, int kStages>
__global__ void __launch_bounds__(kTileThreads)
    KeyGradientKernel(AttentionShape shape, TileAccess access, const Bf16* __restrict__ qkv,
                      const Bf16* __restrict__ d_output, QuerySums sums, Bf16* __restrict__ d_qkv) {
  constexpr int kStride = kWidth + kPad, kRows = 16 * kBands, kKeys = kTileWarps * kRows;
  constexpr int kParts = kWidth / kColumns, kTile = kQueries * kStride;
  static_assert(kQueries <= kTileThreads);
  GPU_DYN_SHARED(Bf16, shared);
  GPU_SHARED(float, log2_sums, [kStages][kQueries]);
  GPU_SHARED(float, means, [kStages][kQueries]);
  GPU_SHARED(int, first_keys, [kStages][kQueries]);
  Bf16* const k_tile = shared;
  Bf16* const v_tile = k_tile + kKeys * kStride;
  Bf16* const q_tiles = v_tile + kKeys * kStride;
  Bf16* const d_tiles = q_tiles + kStages * kTile;

  const int length = shape.length, dim = shape.head_dim;
  const int tiles = (length + kKeys - 1) / kKeys, group = shape.heads / shape.kv_heads;
  int block = static_cast<int>(blockIdx.x);
  const int first_key = block % tiles * kKeys, last_key = min(length, first_key + kKeys) - 1;
  block /= tiles;
  const int first_column = block % kParts * kColumns;
  block /= kParts;
  const int first_head = block % shape.kv_heads * group, end_head = first_head + group;
  const int row = block / shape.kv_heads;
  const HeadPlace keys(shape, row, first_head);
  LoadTile<kWidth, kKeys>(k_tile, qkv + keys.key + int64_t{first_key} * keys.stride,
                          length - first_key, keys.stride, dim, access.aligned_reads);
  LoadTile<kWidth, kKeys>(v_tile, qkv + keys.value + int64_t{first_key} * keys.stride,
                          length - first_key, keys.stride, dim, access.aligned_reads);
  ptx::CommitCopies();

  const auto load = [&](int stage, int head, int first_query) {
    const HeadPlace place(shape, row, head);
    LoadTile<kWidth, kQueries>(q_tiles + stage * kTile,
                               qkv + place.query + int64_t{first_query} * place.stride,
                               length - first_query, place.stride, dim, access.aligned_reads);
    LoadTile<kWidth, kQueries>(d_tiles + stage * kTile,
                               d_output + place.output + int64_t{first_query} * place.output_stride,
                               length - first_query, place.output_stride, dim,
                               access.aligned_reads);
    ptx::CommitCopies();
    if (threadIdx.x < kQueries) {
      const int i = first_query + threadIdx.x;
      const int64_t at = (int64_t{row} * shape.heads + head) * length + i;
      // Who is beyond the row sees nothing.
      log2_sums[stage][threadIdx.x] = i < length ? sums.log2_sum[at] : 0.f;
      means[stage][threadIdx.x] = i < length ? sums.mean[at] : 0.f;
      first_keys[stage][threadIdx.x] = i < length ? FirstKey(shape, row, i) : length;
    }
  };

  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warp_first = first_key + warp * kRows, warp_last = warp_first + kRows - 1;
  const int begin = first_key / kQueries * kQueries;
  const int end = EndOfQueries(shape, row, first_key, last_key);
  const float unit = rsqrtf(static_cast<float>(dim)), scale = kLog2E * unit;
  Fragments<kBands, kColumns> d_key = {}, d_value = {};
  int stage = 0;
  if (kStages == 2 && begin < end) load(stage, first_head, begin);
  for (int head = first_head; head < end_head; ++head) {
    const float slope = shape.slopes != nullptr ? shape.slopes[head] / unit : 0.f;
    for (int first_query = begin; first_query < end; first_query += kQueries) {
      if (kStages == 1) {
        __syncthreads();  // nobody needs the queries of before
        load(stage, head, first_query);
      }
      ptx::WaitForCopies<0>();
      __syncthreads();  // the queries are here, and nobody needs those of before
      const Bf16 *q_tile = q_tiles + stage * kTile, *d_tile = d_tiles + stage * kTile;
      const float *log2_sum = log2_sums[stage], *mean = means[stage];
      const int* sees_from = first_keys[stage];
      if (kStages == 2) {
        stage ^= 1;
        const bool same_head = first_query + kQueries < end;
        const int next_head = same_head ? head : head + 1;
        if (next_head < end_head) {
          load(stage, next_head, same_head ? first_query + kQueries : begin);
        }
      }
      const int last_query = first_query + kQueries - 1;
      if (warp_first > last_key || last_query < warp_first || sees_from[0] > warp_last) continue;

      Fragments<kBands, kQueries> weight = {}, d_score = {};
      AddScores<kWidth, kBands, kQueries>(weight, k_tile + warp * kRows * kStride, q_tile);
      AddScores<kWidth, kBands, kQueries>(d_score, v_tile + warp * kRows * kStride, d_tile);
      if (slope != 0) {
        const int lane_query = first_query + lane % 4 * 2;
        AddSlope<kBands, kQueries>(weight, -slope, lane_query - warp_first - lane / 4);
      }
      const bool all_visible = first_query >= warp_last && sees_from[kQueries - 1] <= warp_first;
#pragma unroll
      for (int band = 0; band < kBands; ++band) {
#pragma unroll
        for (int n = 0; n < kQueries / 8; ++n) {
#pragma unroll
          for (int c = 0; c < 4; ++c) {
            const int q = 8 * n + lane % 4 * 2 + c % 2;
            const int j = warp_first + 16 * band + lane / 4 + c / 2 * 8;
            float& w = weight[band][n][c];
            w = exp2f(w * scale - log2_sum[q]);
            if (!all_visible && (j > first_query + q || j < sees_from[q])) w = 0;
            d_score[band][n][c] = w * (d_score[band][n][c] - mean[q]);
          }
        }
      }
      AddWeighted<kStride, kBands, kQueries, kColumns>(d_value, weight, d_tile + first_column);
      AddWeighted<kStride, kBands, kQueries, kColumns>(d_key, d_score, q_tile + first_column);
    }
  }

#pragma unroll
  for (int band = 0; band < kBands; ++band) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int j = warp_first + 16 * band + lane / 4 + 8 * half;
      if (j >= length) continue;
      StoreRow<kColumns>(d_qkv + keys.key + int64_t{j} * keys.stride, first_column, dim,
                         d_key[band], half, unit, access.aligned_writes);
      StoreRow<kColumns>(d_qkv + keys.value + int64_t{j} * keys.stride, first_column, dim,
                         d_value[band], half, 1.f, access.aligned_writes);
    }
  }
}

/// A block takes 64 kBands queries and walks over the keys that any of them sees.
template <int kWidth, int kBands, int kKeys, int kStages>
__global__ void __launch_bounds__(kTileThreads)
    QueryGradientKernel(AttentionShape shape, TileAccess access, const Bf16* __restrict__ qkv,
                        const Bf16* __restrict__ d_output, QuerySums sums,
                        Bf16* __restrict__ d_qkv) {
  constexpr int kStride = kWidth + kPad, kRows = 16 * kBands, kQueries = kTileWarps * kRows;
  constexpr int kTile = kKeys * kStride;
  GPU_DYN_SHARED(Bf16, shared);
  Bf16* const q_tile = shared;
  Bf16* const d_tile = q_tile + kQueries * kStride;
  Bf16* const k_tiles = d_tile + kQueries * kStride;
  Bf16* const v_tiles = k_tiles + kStages * kTile;

  const int length = shape.length, dim = shape.head_dim;
  const int tiles = (length + kQueries - 1) / kQueries;
  // The longest walks begin first.
  const int first_query = (tiles - 1 - static_cast<int>(blockIdx.x) % tiles) * kQueries;
  const int head = static_cast<int>(blockIdx.x) / tiles % shape.heads;
  const int row = static_cast<int>(blockIdx.x) / tiles / shape.heads;
  const HeadPlace place(shape, row, head);
  LoadTile<kWidth, kQueries>(q_tile, qkv + place.query + int64_t{first_query} * place.stride,
                             length - first_query, place.stride, dim, access.aligned_reads);
  LoadTile<kWidth, kQueries>(d_tile,
                             d_output + place.output + int64_t{first_query} * place.output_stride,
                             length - first_query, place.output_stride, dim, access.aligned_reads);
  ptx::CommitCopies();
  const auto load = [&](int stage, int first_key) {
    LoadTile<kWidth, kKeys>(k_tiles + stage * kTile,
                            qkv + place.key + int64_t{first_key} * place.stride, length - first_key,
                            place.stride, dim, access.aligned_reads);
    LoadTile<kWidth, kKeys>(v_tiles + stage * kTile,
                            qkv + place.value + int64_t{first_key} * place.stride,
                            length - first_key, place.stride, dim, access.aligned_reads);
    ptx::CommitCopies();
  };

  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warp_first = first_query + warp * kRows, warp_last = warp_first + kRows - 1;
  const int lane_first = warp_first + lane / 4;  // this lane's queries are 8 apart from here
  const int warp_sees_from = FirstKey(shape, row, warp_first);
  const int all_see_from = FirstKey(shape, row, warp_last);
  const float unit = rsqrtf(static_cast<float>(dim)), scale = kLog2E * unit;
  const float slope = shape.slopes != nullptr ? shape.slopes[head] / unit : 0.f;
  float log2_sum[kBands][2], mean[kBands][2];
#pragma unroll
  for (int band = 0; band < kBands; ++band) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int i = lane_first + 16 * band + 8 * half;
      const int64_t at = (int64_t{row} * shape.heads + head) * length + i;
      log2_sum[band][half] = i < length ? sums.log2_sum[at] : 0.f;
      mean[band][half] = i < length ? sums.mean[at] : 0.f;
    }
  }

  Fragments<kBands, kWidth> d_query = {};
  const int end = min(length, first_query + kQueries);
  int first_key = FirstKey(shape, row, first_query) / kKeys * kKeys;
  int stage = 0;
  if (kStages == 2) load(stage, first_key);
  for (; first_key < end; first_key += kKeys) {
    if (kStages == 1) {
      __syncthreads();  // nobody needs the keys of before
      load(stage, first_key);
    }
    ptx::WaitForCopies<0>();
    __syncthreads();  // the keys are here, and nobody needs those of before
    const Bf16 *k_tile = k_tiles + stage * kTile, *v_tile = v_tiles + stage * kTile;
    if (kStages == 2) {
      stage ^= 1;
      if (first_key + kKeys < end) load(stage, first_key + kKeys);
    }
    const int last_key = first_key + kKeys - 1;
    if (warp_first >= length || first_key > warp_last || last_key < warp_sees_from) continue;

    Fragments<kBands, kKeys> score = {}, d_score = {};
    AddScores<kWidth, kBands, kKeys>(score, q_tile + warp * kRows * kStride, k_tile);
    AddScores<kWidth, kBands, kKeys>(d_score, d_tile + warp * kRows * kStride, v_tile);
    const bool all_visible = last_key <= warp_first && first_key >= all_see_from;
    const int lane_key = first_key + lane % 4 * 2;
    if (slope != 0) AddSlope<kBands, kKeys>(score, slope, lane_key - lane_first);
    if (!all_visible) HideKeys<kBands, kKeys>(shape, row, lane_first, lane_key, score);
#pragma unroll
    for (int band = 0; band < kBands; ++band) {
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          const float weight = exp2f(score[band][n][c] * scale - log2_sum[band][c / 2]);
          d_score[band][n][c] = weight * (d_score[band][n][c] - mean[band][c / 2]);
        }
      }
    }
    AddWeighted<kStride, kBands, kKeys, kWidth>(d_query, d_score, k_tile);
  }

#pragma unroll
  for (int band = 0; band < kBands; ++band) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int i = lane_first + 16 * band + 8 * half;
      if (i >= length) continue;
      StoreRow<kWidth>(d_qkv + place.query + int64_t{i} * place.stride, 0, dim, d_query[band], half,
                       unit, access.aligned_writes);
    }
  }
}

/// The sizes of the two kernels: bands of a warp's rows, and how many of the other side a tile has.
template <int kWidth, int kColumns, int kKeyBands, int kQueries, int kQueryBands, int kKeys,
          int kStages>
void Run(cudaStream_t stream, const AttentionShape& shape, const Bf16* qkv, const Bf16* d_output,
         const QuerySums& sums, Bf16* d_qkv) {
  const TileAccess access = {ReadsAligned(shape, qkv) && ReadsAligned(shape, d_output),
                             WritesAligned(d_qkv)};
  constexpr size_t kRow = (kWidth + kPad) * sizeof(Bf16);
  constexpr int kOwnKeys = kTileWarps * 16 * kKeyBands;
  const unsigned key_tiles = (shape.length + kOwnKeys - 1) / kOwnKeys;
  Launch(stream, key_tiles * (kWidth / kColumns) * shape.kv_heads * shape.rows, kTileThreads,
         2 * (kOwnKeys + kStages * kQueries) * kRow,
         KeyGradientKernel<kWidth, kColumns, kKeyBands, kQueries, kStages>, shape, access, qkv,
         d_output, sums, d_qkv);
  constexpr int kOwnQueries = kTileWarps * 16 * kQueryBands;
  const unsigned query_tiles = (shape.length + kOwnQueries - 1) / kOwnQueries;
  Launch(stream, query_tiles * shape.heads * shape.rows, kTileThreads,
         2 * (kOwnQueries + kStages * kKeys) * kRow,
         QueryGradientKernel<kWidth, kQueryBands, kKeys, kStages>, shape, access, qkv, d_output,
         sums, d_qkv);
}

}  // namespace

int64_t AttentionSums(const AttentionShape& shape) {
  return int64_t{2} * shape.rows * shape.length * shape.heads;
}

template <>
void AttentionBackward(cudaStream_t stream, const AttentionShape& shape, const Bf16* qkv,
                       const Bf16* output, const float* log_sum_exp, const Bf16* d_output,
                       float* sums, Bf16* d_qkv) {
  const int64_t count = AttentionSums(shape) / 2;
  if (count == 0) return;
  const QuerySums query_sums = {sums, sums + count};
  Launch(stream, static_cast<unsigned>((count + kTileWarps - 1) / kTileWarps), kTileThreads, 0,
         QuerySumsKernel, shape, count, output, log_sum_exp, d_output, query_sums);
  const auto run = shape.head_dim <= 32    ? Run<32, 32, 2, 32, 2, 32, 2>
                   : shape.head_dim <= 64  ? Run<64, 64, 1, 64, 2, 32, 2>
                   : shape.head_dim <= 96  ? Run<96, 96, 1, 32, 1, 32, 2>
                   : shape.head_dim <= 128 ? Run<128, 128, 1, 32, 1, 32, 2>
                                           : Run<256, 128, 1, 32, 1, 32, 1>;
  run(stream, shape, qkv, d_output, query_sums, d_qkv);
}

}  // namespace gyre::cuda
