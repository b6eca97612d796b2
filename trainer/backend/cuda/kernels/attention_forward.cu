// FlashAttention-2: a block holds its queries, walks over the keys that any of them sees, and
// corrects what it has summed whenever a larger logit turns up. While scores of a tile of keys are
// computed, its values are on their way, and the next keys while the values are added.

#include "trainer/backend/cuda/kernels/attention_tiles.h"
#include "trainer/backend/cuda/kernels/launch.h"

namespace gyre::cuda {
namespace {

/// What a lane knows of one query: the exponents of its weights are powers of two.
struct RunningSoftmax {
  float largest = -INFINITY;
  float sum = 0;
};

/// Scores, `scale` times which are exponents, become weights under the new largest exponent.
/// Returns the factor for what was summed under the one before.
template <int kKeys>
__device__ __forceinline__ float Weigh(float (&row)[kKeys / 8][4], int half, float scale,
                                       RunningSoftmax& softmax) {
  float score = -INFINITY;
#pragma unroll
  for (int n = 0; n < kKeys / 8; ++n) {
    score = fmaxf(score, fmaxf(row[n][2 * half], row[n][2 * half + 1]));
  }
  score = fmaxf(score, __shfl_xor_sync(0xffffffffu, score, 1));
  score = fmaxf(score, __shfl_xor_sync(0xffffffffu, score, 2));
  const float largest = fmaxf(softmax.largest, score * scale);
  // While a query has seen no key, infinity minus infinity would make it NaN.
  const float base = largest == -INFINITY ? 0.f : largest;
  const float correction = exp2f(softmax.largest - base);
  float sum = 0;
#pragma unroll
  for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
    for (int c = 2 * half; c < 2 * half + 2; ++c) {
      row[n][c] = exp2f(row[n][c] * scale - base);
      sum += row[n][c];
    }
  }
  softmax.largest = largest;
  softmax.sum = softmax.sum * correction + sum;
  return correction;
}

template <int kWidth, int kBands, int kKeys>
__global__ void __launch_bounds__(kTileThreads, 2)
    ForwardKernel(AttentionShape shape, TileAccess access, const Bf16* __restrict__ qkv,
                  Bf16* __restrict__ output, float* __restrict__ log_sum_exp) {
  constexpr int kStride = kWidth + kPad, kRows = 16 * kBands, kQueries = kTileWarps * kRows;
  GPU_DYN_SHARED(Bf16, shared);
  Bf16* const q_tile = shared;
  Bf16* const k_tile = q_tile + kQueries * kStride;
  Bf16* const v_tile = k_tile + kKeys * kStride;

  const int length = shape.length, dim = shape.head_dim;
  const int tiles = (length + kQueries - 1) / kQueries;
  // The longest walks begin first.
  const int first_query = (tiles - 1 - static_cast<int>(blockIdx.x) % tiles) * kQueries;
  const int head = static_cast<int>(blockIdx.x) / tiles % shape.heads;
  const int row = static_cast<int>(blockIdx.x) / tiles / shape.heads;
  const HeadPlace place(shape, row, head);
  const Bf16 *keys = qkv + place.key, *values = qkv + place.value;

  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warp_first = first_query + warp * kRows, warp_last = warp_first + kRows - 1;
  const int lane_first = warp_first + lane / 4;  // this lane's queries are 8 apart from here
  const int warp_sees_from = FirstKey(shape, row, warp_first);
  const int all_see_from = FirstKey(shape, row, warp_last);
  const float unit = rsqrtf(static_cast<float>(dim)), scale = kLog2E * unit;
  const float slope = shape.slopes != nullptr ? shape.slopes[head] / unit : 0.f;

  const int end = min(length, first_query + kQueries);
  int first_key = FirstKey(shape, row, first_query) / kKeys * kKeys;
  LoadTile<kWidth, kQueries>(q_tile, qkv + place.query + int64_t{first_query} * place.stride,
                             length - first_query, place.stride, dim, access.aligned_reads);
  LoadTile<kWidth, kKeys>(k_tile, keys + int64_t{first_key} * place.stride, length - first_key,
                          place.stride, dim, access.aligned_reads);
  ptx::CommitCopies();

  Fragments<kBands, kWidth> sum = {};
  RunningSoftmax softmax[kBands][2];
  for (; first_key < end; first_key += kKeys) {
    ptx::WaitForCopies<0>();
    __syncthreads();  // the keys are here, and nobody needs the values of before
    LoadTile<kWidth, kKeys>(v_tile, values + int64_t{first_key} * place.stride, length - first_key,
                            place.stride, dim, access.aligned_reads);
    ptx::CommitCopies();
    const int last_key = first_key + kKeys - 1;
    const bool visible =
        warp_first < length && first_key <= warp_last && last_key >= warp_sees_from;
    const bool all_visible = last_key <= warp_first && first_key >= all_see_from;
    Fragments<kBands, kKeys> score = {};
    if (visible) {
      AddScores<kWidth, kBands, kKeys>(score, q_tile + warp * kRows * kStride, k_tile);
      const int lane_key = first_key + lane % 4 * 2;
      if (slope != 0) AddSlope<kBands, kKeys>(score, slope, lane_key - lane_first);
      if (!all_visible) HideKeys<kBands, kKeys>(shape, row, lane_first, lane_key, score);
#pragma unroll
      for (int band = 0; band < kBands; ++band) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const float correction = Weigh<kKeys>(score[band], half, scale, softmax[band][half]);
#pragma unroll
          for (int n = 0; n < kWidth / 8; ++n) {
            sum[band][n][2 * half] *= correction;
            sum[band][n][2 * half + 1] *= correction;
          }
        }
      }
    }
    ptx::WaitForCopies<0>();
    __syncthreads();  // the values are here, and nobody needs the keys
    if (first_key + kKeys < end) {
      LoadTile<kWidth, kKeys>(k_tile, keys + int64_t{first_key + kKeys} * place.stride,
                              length - first_key - kKeys, place.stride, dim, access.aligned_reads);
    }
    ptx::CommitCopies();
    if (visible) AddWeighted<kStride, kBands, kKeys, kWidth>(sum, score, v_tile);
  }

#pragma unroll
  for (int band = 0; band < kBands; ++band) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float total = softmax[band][half].sum;
      total += __shfl_xor_sync(0xffffffffu, total, 1);
      total += __shfl_xor_sync(0xffffffffu, total, 2);
      const int i = lane_first + 16 * band + 8 * half;
      if (i >= length) continue;
      if (lane % 4 == 0) {
        log_sum_exp[(place.token + i) * shape.heads + head] =
            (softmax[band][half].largest + log2f(total)) / kLog2E;
      }
      StoreRow<kWidth>(output + place.output + int64_t{i} * place.output_stride, 0, dim, sum[band],
                       half, 1.f / total, access.aligned_writes);
    }
  }
}

template <int kWidth, int kBands, int kKeys>
void Run(cudaStream_t stream, const AttentionShape& shape, const Bf16* qkv, Bf16* output,
         float* log_sum_exp) {
  constexpr int kQueries = kTileWarps * 16 * kBands;
  constexpr size_t kShared = (kQueries + 2 * kKeys) * (kWidth + kPad) * sizeof(Bf16);
  const TileAccess access = {ReadsAligned(shape, qkv), WritesAligned(output)};
  const unsigned tiles = (shape.length + kQueries - 1) / kQueries;
  Launch(stream, tiles * shape.heads * shape.rows, kTileThreads, kShared,
         ForwardKernel<kWidth, kBands, kKeys>, shape, access, qkv, output, log_sum_exp);
}

}  // namespace

template <>
void AttentionForward(cudaStream_t stream, const AttentionShape& shape, const Bf16* qkv,
                      Bf16* output, float* log_sum_exp) {
  if (shape.rows == 0 || shape.length == 0) return;
  const auto run = shape.head_dim <= 32    ? Run<32, 2, 64>
                   : shape.head_dim <= 64  ? Run<64, 2, 64>
                   : shape.head_dim <= 96  ? Run<96, 2, 32>
                   : shape.head_dim <= 128 ? Run<128, 2, 32>
                                           : Run<256, 1, 32>;
  run(stream, shape, qkv, output, log_sum_exp);
}

}  // namespace gyre::cuda
