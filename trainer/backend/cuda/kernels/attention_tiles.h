#pragma once

// What the bf16 attention kernels share: blocks of four warps, tiles of queries or keys in shared
// memory, products of such tiles by tensor cores. A tile is kWidth columns wide: the head
// dimension, padded with zeros; its rows are kPad elements apart from each other, which keeps
// ldmatrix free of bank conflicts. A warp owns 16 kBands rows of a product, as the fragments of
// ptx.h: with more bands it reads the other factor less often.

#include <cstring>

#include "trainer/backend/cuda/kernels/attention_place.h"
#include "trainer/backend/cuda/kernels/ptx.h"

namespace gyre::cuda {

constexpr int kTileWarps = 4;
constexpr int kTileThreads = 32 * kTileWarps;
constexpr int kPad = 8;
constexpr float kLog2E = 1.4426950408889634f;

/// Rows of a warp: lane l holds columns 8 n + 2 (l % 4) and + 1 of rows 16 b + l / 4 (elements 0,
/// 1) and + 8 (elements 2, 3) in [b][n].
template <int kBands, int kColumns>
using Fragments = float[kBands][kColumns / 8][4];

/// Whether a kernel may read in 16 bytes and write in 4.
struct TileAccess {
  bool aligned_reads = false;
  bool aligned_writes = false;
};
inline bool ReadsAligned(const AttentionShape& shape, const void* place) {
  return shape.head_dim % 8 == 0 && reinterpret_cast<uintptr_t>(place) % 16 == 0;
}
inline bool WritesAligned(const void* place) {
  return reinterpret_cast<uintptr_t>(place) % sizeof(__nv_bfloat162) == 0;
}

/// Fills a tile with `rows` rows; what is beyond them or the head dimension becomes zeros. It is
/// there after WaitForCopies and a barrier.
template <int kWidth, int kRows>
__device__ __forceinline__ void LoadTile(Bf16* tile, const Bf16* from, int rows, int stride,
                                         int head_dim, bool aligned) {
  constexpr int kPieces = kWidth / 8;
#pragma unroll 2
  for (int i = threadIdx.x; i < kRows * kPieces; i += kTileThreads) {
    const int r = i / kPieces, c = i % kPieces * 8;
    Bf16* to = tile + r * (kWidth + kPad) + c;
    if (aligned) {
      const bool inside = r < rows && c < head_dim;
      ptx::CopyAsync(to, from + (inside ? r * stride + c : 0), inside);
    } else {
      for (int e = 0; e < 8; ++e) {
        to[e] = r < rows && c + e < head_dim ? from[r * stride + c + e] : __float2bfloat16_rn(0.f);
      }
    }
  }
}

__device__ __forceinline__ uint32_t Packed(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  uint32_t bits;
  memcpy(&bits, &pair, sizeof bits);
  return bits;
}

/// sum += a b^T: a are the warp's rows of a tile, b is a tile of kColumns rows.
template <int kWidth, int kBands, int kColumns>
__device__ __forceinline__ void AddScores(Fragments<kBands, kColumns>& sum, const Bf16* a,
                                          const Bf16* b) {
  constexpr int kStride = kWidth + kPad;
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < kWidth; k += 16) {
    uint32_t rows[kBands][4];
#pragma unroll
    for (int band = 0; band < kBands; ++band) {
      ptx::LoadMatrix(rows[band], a + (16 * band + lane % 16) * kStride + k + lane / 16 * 8);
    }
#pragma unroll
    for (int n = 0; n < kColumns / 8; n += 2) {
      uint32_t columns[4];
      ptx::LoadMatrix(columns,
                      b + (8 * n + lane % 8 + lane / 16 * 8) * kStride + k + lane / 8 % 2 * 8);
#pragma unroll
      for (int band = 0; band < kBands; ++band) {
        ptx::MultiplyAdd(sum[band][n], rows[band], {columns[0], columns[1]});
        ptx::MultiplyAdd(sum[band][n + 1], rows[band], {columns[2], columns[3]});
      }
    }
  }
}

/// Adds slope * (column - row), of which `distance` is this lane's first one.
template <int kBands, int kColumns>
__device__ __forceinline__ void AddSlope(Fragments<kBands, kColumns>& score, float slope,
                                         int distance) {
  // One conversion of an integer for all: they are as slow as exponentials.
  const float first = slope * static_cast<float>(distance);
#pragma unroll
  for (int band = 0; band < kBands; ++band) {
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        score[band][n][c] +=
            first + slope * static_cast<float>(8 * n + c % 2 - 16 * band - c / 2 * 8);
      }
    }
  }
}

/// Scores of queries (rows, of this lane from `query`) become minus infinity for the keys (columns,
/// from `key`) that they do not see.
template <int kBands, int kKeys>
__device__ __forceinline__ void HideKeys(const AttentionShape& shape, int row, int query, int key,
                                         Fragments<kBands, kKeys>& score) {
#pragma unroll
  for (int band = 0; band < kBands; ++band) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int i = query + 16 * band + 8 * half, sees_from = FirstKey(shape, row, i);
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const int j = key + 8 * n + c;
          if (j > i || j < sees_from) score[band][n][2 * half + c] = -INFINITY;
        }
      }
    }
  }
}

/// sum += a b: a are the warp's fragments, rounded; b is kColumns columns of a tile of kInner rows.
template <int kStride, int kBands, int kInner, int kColumns>
__device__ __forceinline__ void AddWeighted(Fragments<kBands, kColumns>& sum,
                                            const Fragments<kBands, kInner>& a, const Bf16* b) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < kInner / 8; k += 2) {
    uint32_t rows[kBands][4];
#pragma unroll
    for (int band = 0; band < kBands; ++band) {
      const float(&left)[4] = a[band][k], (&right)[4] = a[band][k + 1];
      rows[band][0] = Packed(left[0], left[1]);
      rows[band][1] = Packed(left[2], left[3]);
      rows[band][2] = Packed(right[0], right[1]);
      rows[band][3] = Packed(right[2], right[3]);
    }
#pragma unroll
    for (int n = 0; n < kColumns / 8; n += 2) {
      uint32_t columns[4];
      ptx::LoadMatrixTransposed(columns, b + (8 * k + lane % 16) * kStride + 8 * n + lane / 16 * 8);
#pragma unroll
      for (int band = 0; band < kBands; ++band) {
        ptx::MultiplyAdd(sum[band][n], rows[band], {columns[0], columns[1]});
        ptx::MultiplyAdd(sum[band][n + 1], rows[band], {columns[2], columns[3]});
      }
    }
  }
}

/// Writes this lane's elements of one row of fragments, times `scale`: columns first .. of a head,
/// as far as it has them.
template <int kColumns>
__device__ __forceinline__ void StoreRow(Bf16* head, int first, int head_dim,
                                         const float (&row)[kColumns / 8][4], int half, float scale,
                                         bool aligned) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int n = 0; n < kColumns / 8; ++n) {
    const int c = first + 8 * n + lane % 4 * 2;
    if (c >= head_dim) continue;
    const float left = row[n][2 * half] * scale, right = row[n][2 * half + 1] * scale;
    if (aligned) {
      *reinterpret_cast<__nv_bfloat162*>(head + c) = __floats2bfloat162_rn(left, right);
    } else {
      head[c] = __float2bfloat16_rn(left);
      head[c + 1] = __float2bfloat16_rn(right);
    }
  }
}

}  // namespace gyre::cuda
