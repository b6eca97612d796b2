// A warp has one token at a time and goes through the heads of its q and k. A head has a group of
// neighbouring lanes, as many as a power of two, each with eight neighbouring coordinates; a
// coordinate meets the one it turns with in shared memory, wherever that is.

#include <algorithm>
#include <cstdlib>

#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/kernels/pack.h"
#include "trainer/backend/cuda/kernels/reduce.h"

namespace gyre::cuda {
namespace {

constexpr int kWarps = 4, kThreads = kWarps * 32;
constexpr int kEach = 8;            // coordinates of a lane
constexpr int kSlots = 32 * kEach;  // of a warp
constexpr int64_t kMostParts = 132 * 4;
constexpr int64_t kTokensPerWarp = 4;  // at least, so that sums are little beside rows
static_assert(kSlots >= kMaxHeadDim);

/// RotatedPairs, seen from a coordinate: y = cosine x + sign sine partner; sign 0: stays.
struct Turns {
  uint8_t partner[kMaxHeadDim] = {}, column[kMaxHeadDim] = {};
  int8_t sign[kMaxHeadDim] = {};
};

struct HeadRows {
  int64_t tokens = 0, width = 0, columns = 0;  // width of qkv
  int length = 0;
  int heads = 0, turned = 0, head_dim = 0;  // q's; q's and k's
  const float* cosine = nullptr;
  const float* sine = nullptr;
};

// What a block has in shared memory. Coordinate i of lane l is in slot 32 i + l, so that lanes do
// not get in each other's way.
struct Slots {
  float x[kWarps][kSlots];
  float q_gain[kSlots], k_gain[kSlots];
  int turn[kSlots];  // sign (column + 1), 0: stays
};

// What a lane turns.
struct Lane {
  // All threads of the block together.
  __device__ __forceinline__ Lane(const HeadRows& rows, const Turns& turns, Slots* slots)
      : slots(slots), lane(threadIdx.x % 32), lanes(1) {
    while (lanes * kEach < rows.head_dim) lanes *= 2;
    groups = 32 / lanes;
    group = lane / lanes;
    first = lane % lanes * kEach;
    count = min(max(rows.head_dim - first, 0), kEach);
    turns_any = false;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int sign = i < count ? turns.sign[first + i] : 0;
      const int other = sign != 0 ? turns.partner[first + i] : first + i;
      partner[i] = other % kEach * 32 + group * lanes + other / kEach;
      turns_any |= sign != 0;
      if (threadIdx.x < 32) {
        slots->turn[i * 32 + lane] = sign == 0 ? 0 : sign * (turns.column[first + i] + 1);
      }
    }
    __syncthreads();
  }

  __device__ __forceinline__ void MoveTo(const HeadRows& rows, int position, float direction) {
    const float* const cosines = rows.cosine + position * rows.columns;
    const float* const sines = rows.sine + position * rows.columns;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int turn = slots->turn[i * 32 + lane];
      const int column = abs(turn) - 1;
      cosine[i] = turn == 0 ? 1 : cosines[column];
      sine[i] = turn == 0 ? 0 : sines[column] * (turn < 0 ? -direction : direction);
    }
  }

  // All lanes of the warp together.
  __device__ __forceinline__ void Turn(float* x) const {
    float* const warp = slots->x[threadIdx.x / 32];
#pragma unroll
    for (int i = 0; i < kEach; ++i) warp[i * 32 + lane] = x[i];
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kEach; ++i) x[i] = x[i] * cosine[i] + warp[partner[i]] * sine[i];
    __syncwarp();
  }

  Slots* slots;
  int lane;
  int lanes, groups;        // of a head; heads at a time
  int group, first, count;  // of heads; coordinates first .. first + count - 1
  bool turns_any;
  int partner[kEach];  // its slot
  float cosine[kEach], sine[kEach];
};

template <int N, typename T>
__device__ __forceinline__ void LoadSome(const T* p, int count, float* x) {
#pragma unroll
  for (int i = 0; i < kEach; i += N) {
    if (i < count) {
      Load<N>(p + i, x + i);
    } else {
#pragma unroll
      for (int j = 0; j < N; ++j) x[i + j] = 0;
    }
  }
}

template <int N, typename T>
__device__ __forceinline__ void StoreSome(const float* x, int count, T* p) {
#pragma unroll
  for (int i = 0; i < kEach; i += N) {
    if (i < count) Store<N>(x + i, p + i);
  }
}

// The tokens of a warp, with their positions.
struct Walk {
  __device__ __forceinline__ explicit Walk(const HeadRows& rows) {
    step = int64_t{gridDim.x} * kWarps;
    token = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
    position = static_cast<int>(token % rows.length);
    ahead = static_cast<int>(step % rows.length);
  }
  __device__ __forceinline__ void Next(const HeadRows& rows) {
    token += step;
    position += ahead - (position >= rows.length - ahead ? rows.length : 0);
  }
  int64_t token, step;
  int position, ahead;
};

template <int N, typename Narrow>
__global__ void __launch_bounds__(kThreads, 7)
    RotateKernel(HeadRows rows, Turns turns, float direction, Narrow* __restrict__ qkv) {
  GPU_SHARED(Slots, slots, [1]);
  Lane lane(rows, turns, slots);
  const int count = lane.turns_any ? lane.count : 0;
  for (Walk at(rows); at.token < rows.tokens; at.Next(rows)) {
    lane.MoveTo(rows, at.position, direction);
    for (int beyond = 0; beyond < rows.turned; beyond += lane.groups) {
      const int head = beyond + lane.group;
      Narrow* p = qkv + at.token * rows.width + int64_t{head} * rows.head_dim + lane.first;
      const int here = head < rows.turned ? count : 0;
      float x[kEach];
      LoadSome<N>(p, here, x);
      lane.Turn(x);
      StoreSome<N>(x, here, p);
    }
  }
}

// All threads of the block together.
__device__ __forceinline__ void KeepGains(const HeadNorms& norms, const Lane& lane, Slots* slots) {
  if (threadIdx.x < 32) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      slots->q_gain[i * 32 + lane.lane] = i < lane.count ? norms.q_norm[lane.first + i] : 0;
      slots->k_gain[i * 32 + lane.lane] = i < lane.count ? norms.k_norm[lane.first + i] : 0;
    }
  }
  __syncthreads();
}

template <int N, typename Narrow>
__global__ void __launch_bounds__(kThreads, 6)
    NormAndRotateKernel(HeadRows rows, Turns turns, HeadNorms norms, Narrow* __restrict__ qkv,
                        Narrow* __restrict__ raw_qk, float* __restrict__ inverse_rms) {
  GPU_SHARED(Slots, slots, [1]);
  Lane lane(rows, turns, slots);
  KeepGains(norms, lane, slots);
  for (Walk at(rows); at.token < rows.tokens; at.Next(rows)) {
    lane.MoveTo(rows, at.position, 1);
    for (int beyond = 0; beyond < rows.turned; beyond += lane.groups) {
      const int head = beyond + lane.group;
      const int64_t row = at.token * rows.turned + head;
      const int here = head < rows.turned ? lane.count : 0;
      const float* gain = (head < rows.heads ? slots->q_gain : slots->k_gain) + lane.lane;
      Narrow* p = qkv + at.token * rows.width + int64_t{head} * rows.head_dim + lane.first;
      float x[kEach], squares = 0;
      LoadSome<N>(p, here, x);
      StoreSome<N>(x, here, raw_qk + row * rows.head_dim + lane.first);
#pragma unroll
      for (int i = 0; i < kEach; ++i) squares += x[i] * x[i];
      const float inverse = InverseRms(LanesReduced<Plus>(squares, lane.lanes), rows.head_dim,
                                       static_cast<float>(norms.epsilon));
      if (here > 0 && lane.first == 0) inverse_rms[row] = inverse;
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        x[i] *= inverse * gain[i * 32];
      }
      lane.Turn(x);
      StoreSome<N>(x, here, p);
    }
  }
}

// Assigns out (head_dim) the sums of what the lanes of the block have for their coordinates.
__device__ __forceinline__ void BlockSums(const Lane& lane, int head_dim, const float* own,
                                          float* out) {
  float(*const slots)[kSlots] = lane.slots->x;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kEach; ++i) slots[threadIdx.x / 32][i * 32 + lane.lane] = own[i];
  __syncthreads();
  for (int c = threadIdx.x; c < head_dim; c += kThreads) {
    float sum = 0;
    for (int warp = 0; warp < kWarps; ++warp) {
      for (int group = 0; group < lane.groups; ++group) {
        sum += slots[warp][c % kEach * 32 + group * lane.lanes + c / kEach];
      }
    }
    out[c] = sum;
  }
}

template <int N, typename Narrow>
__global__ void __launch_bounds__(kThreads, 4)
    NormAndRotateBackwardKernel(HeadRows rows, Turns turns, HeadNorms norms,
                                const Narrow* __restrict__ raw_qk,
                                const float* __restrict__ inverse_rms, Narrow* __restrict__ d_qkv,
                                float* __restrict__ sums) {
  GPU_SHARED(Slots, slots, [1]);
  Lane lane(rows, turns, slots);
  KeepGains(norms, lane, slots);
  float d_q[kEach] = {}, d_k[kEach] = {};
  for (Walk at(rows); at.token < rows.tokens; at.Next(rows)) {
    lane.MoveTo(rows, at.position, -1);
    for (int beyond = 0; beyond < rows.turned; beyond += lane.groups) {
      const int head = beyond + lane.group;
      const int64_t row = at.token * rows.turned + head;
      const int here = head < rows.turned ? lane.count : 0;
      const bool query = head < rows.heads;
      const float* gain = (query ? slots->q_gain : slots->k_gain) + lane.lane;
      Narrow* p = d_qkv + at.token * rows.width + int64_t{head} * rows.head_dim + lane.first;
      float d[kEach], x[kEach], along = 0;
      LoadSome<N>(p, here, d);
      LoadSome<N>(raw_qk + row * rows.head_dim + lane.first, here, x);
      const float inverse = here > 0 ? inverse_rms[row] : 0;
      lane.Turn(d);
#pragma unroll
      for (int i = 0; i < kEach; ++i) along += d[i] * gain[i * 32] * x[i];
      const float pull = LanesReduced<Plus>(along, lane.lanes) * inverse * inverse / rows.head_dim;
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        const float d_gain = d[i] * (x[i] * inverse);
        d_q[i] += query ? d_gain : 0;
        d_k[i] += query ? 0 : d_gain;
        d[i] = inverse * (gain[i * 32] * d[i] - pull * x[i]);
      }
      StoreSome<N>(d, here, p);
    }
  }
  float* out = sums + int64_t{blockIdx.x} * 2 * rows.head_dim;
  BlockSums(lane, rows.head_dim, d_q, out);
  BlockSums(lane, rows.head_dim, d_k, out + rows.head_dim);
}

Turns TurnsOf(const RotatedPairs& pairs) {
  Turns turns;
  const auto turn = [&](int i, int coordinate, int partner, int8_t sign) {
    turns.partner[coordinate] = static_cast<uint8_t>(partner);
    turns.column[coordinate] = pairs.pair[i];
    turns.sign[coordinate] = sign;
  };
  for (int i = 0; i < pairs.count; ++i) {
    turn(i, pairs.a[i], pairs.b[i], -1);
    turn(i, pairs.b[i], pairs.a[i], 1);
  }
  return turns;
}

HeadRows RowsOf(const RotatedHeads& heads) {
  HeadRows rows;
  rows.tokens = heads.tokens;
  rows.width = int64_t{heads.heads + 2 * heads.kv_heads} * heads.head_dim;
  rows.length = heads.length;
  rows.heads = heads.heads;
  rows.turned = heads.heads + heads.kv_heads;
  rows.head_dim = heads.head_dim;
  rows.columns = heads.columns;
  rows.cosine = heads.cosine;
  rows.sine = heads.sine;
  return rows;
}

unsigned Parts(int64_t tokens) {
  constexpr int64_t kEachBlock = kWarps * kTokensPerWarp;
  return static_cast<unsigned>(
      std::clamp<int64_t>((tokens + kEachBlock - 1) / kEachBlock, 1, kMostParts));
}

}  // namespace

template <typename Narrow>
void Rotate(cudaStream_t stream, const RotatedHeads& heads, bool back, Narrow* qkv) {
  if (heads.tokens == 0 || heads.pairs.count == 0) return;
  constexpr int kN = kPack<Narrow>;
  Launch(stream, BlocksFor(heads.tokens, kWarps), kThreads, 0,
         Packs<kN>(heads.head_dim, qkv) ? RotateKernel<kN, Narrow> : RotateKernel<1, Narrow>,
         RowsOf(heads), TurnsOf(heads.pairs), back ? -1.0f : 1.0f, qkv);
}

template <typename Narrow>
void NormAndRotate(cudaStream_t stream, const RotatedHeads& heads, const HeadNorms& norms,
                   Narrow* qkv, Narrow* raw_qk, float* inverse_rms) {
  if (heads.tokens == 0) return;
  constexpr int kN = kPack<Narrow>;
  Launch(stream, BlocksFor(heads.tokens, kWarps), kThreads, 0,
         Packs<kN>(heads.head_dim, qkv, raw_qk) ? NormAndRotateKernel<kN, Narrow>
                                                : NormAndRotateKernel<1, Narrow>,
         RowsOf(heads), TurnsOf(heads.pairs), norms, qkv, raw_qk, inverse_rms);
}

template <typename Narrow>
void NormAndRotateBackward(cudaStream_t stream, const RotatedHeads& heads, const HeadNorms& norms,
                           const Narrow* raw_qk, const float* inverse_rms, Narrow* d_qkv,
                           float* sums, float* d_q_norm, float* d_k_norm) {
  if (heads.tokens == 0) return;
  constexpr int kN = kPack<Narrow>;
  const int head_dim = heads.head_dim;
  const unsigned parts = Parts(heads.tokens);
  Launch(stream, parts, kThreads, 0,
         Packs<kN>(head_dim, raw_qk, d_qkv) ? NormAndRotateBackwardKernel<kN, Narrow>
                                            : NormAndRotateBackwardKernel<1, Narrow>,
         RowsOf(heads), TurnsOf(heads.pairs), norms, raw_qk, inverse_rms, d_qkv, sums);
  AddColumnSums(stream, sums, parts, 2 * head_dim, head_dim, d_q_norm);
  AddColumnSums(stream, sums + head_dim, parts, 2 * head_dim, head_dim, d_k_norm);
}

int64_t HeadNormSums(const RotatedHeads& heads) {
  return int64_t{Parts(heads.tokens)} * 2 * heads.head_dim;
}

template void Rotate(cudaStream_t, const RotatedHeads&, bool, float*);
template void Rotate(cudaStream_t, const RotatedHeads&, bool, Bf16*);
template void NormAndRotate(cudaStream_t, const RotatedHeads&, const HeadNorms&, float*, float*,
                            float*);
template void NormAndRotate(cudaStream_t, const RotatedHeads&, const HeadNorms&, Bf16*, Bf16*,
                            float*);
template void NormAndRotateBackward(cudaStream_t, const RotatedHeads&, const HeadNorms&,
                                    const float*, const float*, float*, float*, float*, float*);
template void NormAndRotateBackward(cudaStream_t, const RotatedHeads&, const HeadNorms&,
                                    const Bf16*, const float*, Bf16*, float*, float*, float*);

}  // namespace gyre::cuda
