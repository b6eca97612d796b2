#pragma once

// The six PTX instructions that kernels use, and the only place with PTX. All lanes of a warp call
// the first three together. Where kernels are executed on the CPU, tests/emulation/ptx.h has been
// included before: it defines GPU_PTX and the same functions, lane by lane.
// tests/trainer/backend/cuda/ptx_test.cu holds both against plain loops.

#include <cstdint>

#include "trainer/backend/cuda/kernels/gpu.h"

#ifndef GPU_PTX
#define GPU_PTX

namespace gyre::cuda::ptx {

__device__ __forceinline__ uint32_t SharedAddress(const void* place) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(place));
}

/// d (16 x 8 float) += a (16 x 16 bf16) b (16 x 8 bf16). With g = lane / 4 and t = lane % 4, a lane
/// holds d of rows g (0, 1) and g + 8 (2, 3), columns 2t and 2t + 1; pairs of a at rows g (0, 2)
/// and g + 8 (1, 3), columns 2t (0, 1) and 2t + 8 (2, 3); pairs of b at rows 2t (0) and 2t + 8 (1)
/// of column g.
__device__ __forceinline__ void MultiplyAdd(float (&d)[4], const uint32_t (&a)[4],
                                            const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},"
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// Four 8 x 8 matrices of bf16 in shared memory: lane l gives the address of row l % 8 of matrix
/// l / 8, aligned to 16 bytes, and takes columns 2 (l % 4) and + 1 of row l / 4 of each.
__device__ __forceinline__ void LoadMatrix(uint32_t (&pairs)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
               : "=r"(pairs[0]), "=r"(pairs[1]), "=r"(pairs[2]), "=r"(pairs[3])
               : "r"(SharedAddress(row))
               : "memory");
}

/// The same of the transposed matrices: rows 2 (l % 4) and + 1 of column l / 4.
__device__ __forceinline__ void LoadMatrixTransposed(uint32_t (&pairs)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3},[%4];"
               : "=r"(pairs[0]), "=r"(pairs[1]), "=r"(pairs[2]), "=r"(pairs[3])
               : "r"(SharedAddress(row))
               : "memory");
}

/// Begins to copy 16 bytes, both sides aligned to 16, or zeros if not `inside`, where `from` is not
/// read.
__device__ __forceinline__ void CopyAsync(void* to_shared, const void* from, bool inside) {
  asm volatile("cp.async.cg.shared.global [%0],[%1],16,%2;" ::"r"(SharedAddress(to_shared)),
               "l"(from), "r"(inside ? 16 : 0)
               : "memory");
}

/// Ends a group of this thread's copies.
__device__ __forceinline__ void CommitCopies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until at most `kGroups` of this thread's groups are under way. Other threads see the bytes
/// after a barrier.
template <int kGroups>
__device__ __forceinline__ void WaitForCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
}

}  // namespace gyre::cuda::ptx

#endif  // GPU_PTX
