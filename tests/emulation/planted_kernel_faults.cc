// Faults within kernels.

#include <cmath>

#include "tests/emulation/planted_fault.h"
#include "trainer/backend/cuda/kernels/gpu.h"
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/kernels/ptx.h"

namespace gyre::planted {
namespace {

using cuda::Launch;

__global__ void SharedArrayKernel(int beyond, float* out) {
  GPU_SHARED(float, values, [kThreads]);
  float* const first = values;  // without its length, for AddressSanitizer alone to see
  first[threadIdx.x == kThreads - 1 ? threadIdx.x + beyond : threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x];
}

__global__ void DynamicSharedKernel(int beyond, float* out) {
  GPU_DYN_SHARED(float, values);
  values[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x + beyond];
}

__global__ void CopyKernel(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

__global__ void ReverseKernel(unsigned written, float* out) {
  GPU_SHARED(float, values, [kThreads]);
  if (threadIdx.x < written) values[threadIdx.x] = 0;
  __syncthreads();
  out[threadIdx.x] = values[kThreads - 1 - threadIdx.x];
}

__global__ void NeighboursKernel(bool wait, float* out) {
  GPU_SHARED(float, values, [32]);
  values[threadIdx.x] = 1;
  if (wait) __syncwarp();
  out[threadIdx.x] = values[threadIdx.x ^ 1];
}

__global__ void BlockBarrierKernel(bool wait, float* out) {
  GPU_SHARED(float, values, [kThreads]);
  values[threadIdx.x] = 1;
  if (wait) __syncthreads();
  out[threadIdx.x] = values[kThreads - 1 - threadIdx.x];
}

__global__ void SumKernel(bool by_atomics, float* out) {
  if (threadIdx.x != 0) return;
  if (by_atomics) {
    atomicAdd(out, 1.0f);
  } else {
    *out += 1;
  }
}

__global__ void EarlyReturnKernel(unsigned count, float* out) {
  if (threadIdx.x >= count) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}

__global__ void TwoBarriersKernel(float* out) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  out[threadIdx.x] = 1;
}

__global__ void DivergentShuffleKernel(float* out) {
  float value = 1;
  if (threadIdx.x % 2 == 1) value = __shfl_xor_sync(0xffffffffu, value, 1);
  out[threadIdx.x] = value;
}

__global__ void VectorKernel(int offset, float* out) {
  *reinterpret_cast<float4*>(out + offset) = make_float4(1, 2, 3, 4);
}

// Every thread takes the 16 bytes that another has copied.
__global__ void AsyncCopyKernel(bool wait, bool barrier, const float* in, float* out) {
  GPU_SHARED(float4, values, [32]);
  cuda::ptx::CopyAsync(&values[threadIdx.x], in + 4 * threadIdx.x, true);
  cuda::ptx::CommitCopies();
  if (wait) {
    cuda::ptx::WaitForCopies<0>();
  } else {
    cuda::ptx::WaitForCopies<1>();
  }
  if (barrier) __syncthreads();
  out[threadIdx.x] = values[31 - threadIdx.x].x;
}

__global__ void LoadMatrixKernel(int offset, float* out) {
  GPU_SHARED(uint16_t, rows, [32 * 8 + 8]);
  for (unsigned i = threadIdx.x; i < 32 * 8 + 8; i += 32) rows[i] = 0;
  __syncwarp();
  uint32_t pairs[4];
  cuda::ptx::LoadMatrix(pairs, rows + threadIdx.x * 8 + offset);
  out[threadIdx.x] = static_cast<float>(pairs[0]);
}

bool SharedArray(int beyond) {
  float* out = DeviceFloats(kThreads);
  Launch(nullptr, 1, kThreads, 0, SharedArrayKernel, beyond, out);
  return FirstOf(out) == 1;
}

bool DynamicShared(int beyond) {
  float* out = DeviceFloats(kThreads);
  Launch(nullptr, 1, kThreads, kThreads * sizeof(float), DynamicSharedKernel, beyond, out);
  return FirstOf(out) == 1;
}

bool Written(bool written) {
  float *in = DeviceFloats(kThreads), *out = DeviceFloats(kThreads);
  if (written) cudaMemset(in, 0, kThreads * sizeof(float));
  Launch(nullptr, 1, kThreads, 0, CopyKernel, in, out);
  return FirstOf(out) == 0;
}

bool SharedWritten(unsigned written) {
  float* out = DeviceFloats(kThreads);
  Launch(nullptr, 1, kThreads, 0, ReverseKernel, written, out);
  return FirstOf(out) == 0;
}

bool Neighbours(bool wait) {
  float* out = DeviceFloats(32);
  Launch(nullptr, 1, 32, 0, NeighboursKernel, wait, out);
  return true;  // who is right by luck is wrong
}

bool BlockBarrier(bool wait) {
  float* out = DeviceFloats(kThreads);
  Launch(nullptr, 1, kThreads, 0, BlockBarrierKernel, wait, out);
  return FirstOf(out) == 1 && FirstOf(out + kThreads - 1) == 1;
}

bool Sum(bool by_atomics) {
  constexpr int kBlocks = 8;
  float* out = DeviceFloats(1);
  cudaMemset(out, 0, sizeof(float));
  Launch(nullptr, kBlocks, kThreads, 0, SumKernel, by_atomics, out);
  return FirstOf(out) == kBlocks;
}

bool EarlyReturn(unsigned count) {
  float* out = DeviceFloats(kThreads);
  Launch(nullptr, 1, kThreads, 0, EarlyReturnKernel, count, out);
  return FirstOf(out) == 1;
}

template <typename Kernel>
bool OneArgument(Kernel kernel) {
  float* out = DeviceFloats(kThreads);
  Launch(nullptr, 1, kThreads, 0, kernel, out);
  return FirstOf(out) == 1;
}

bool Vector(int offset) {
  float* out = DeviceFloats(8);
  Launch(nullptr, 1, 1, 0, VectorKernel, offset, out);
  return FirstOf(out + offset) == 1;
}

bool AsyncCopy(bool wait, bool barrier) {
  float *in = DeviceFloats(128), *out = DeviceFloats(32);
  cudaMemset(in, 0, 128 * sizeof(float));
  Launch(nullptr, 1, 32, 0, AsyncCopyKernel, wait, barrier, in, out);
  return FirstOf(out) == 0;
}

bool LoadMatrixRows(int offset) {
  float* out = DeviceFloats(32);
  Launch(nullptr, 1, 32, 0, LoadMatrixKernel, offset, out);
  return FirstOf(out) == 0;
}

}  // namespace

const std::vector<PlantedFault>& KernelFaults() {
  static const std::vector<PlantedFault> faults = {
      {"shared_array_overrun", [] { return SharedArray(1); }},
      {"shared_array", [] { return SharedArray(0); }},
      {"dynamic_shared_overrun", [] { return DynamicShared(1); }},
      {"dynamic_shared", [] { return DynamicShared(0); }},
      {"memory_not_written", [] { return Written(false); }},
      {"memory_written", [] { return Written(true); }},
      {"shared_not_written", [] { return SharedWritten(kThreads - 1); }},
      {"shared_written", [] { return SharedWritten(kThreads); }},
      {"no_syncwarp", [] { return Neighbours(false); }},
      {"syncwarp", [] { return Neighbours(true); }},
      {"no_syncthreads", [] { return BlockBarrier(false); }},
      {"syncthreads", [] { return BlockBarrier(true); }},
      {"blocks_race", [] { return Sum(false); }},
      {"atomics", [] { return Sum(true); }},
      {"return_before_syncthreads", [] { return EarlyReturn(40); }},
      {"two_syncthreads", [] { return OneArgument(TwoBarriersKernel); }},
      {"divergent_shuffle", [] { return OneArgument(DivergentShuffleKernel); }},
      {"misaligned_vector", [] { return Vector(1); }},
      {"vector", [] { return Vector(4); }},
      {"async_copy_no_wait", [] { return AsyncCopy(false, true); }},
      {"async_copy_no_barrier", [] { return AsyncCopy(true, false); }},
      {"async_copy", [] { return AsyncCopy(true, true); }},
      {"misaligned_load_matrix", [] { return LoadMatrixRows(4); }},
      {"load_matrix", [] { return LoadMatrixRows(0); }},
  };
  return faults;
}

}  // namespace gyre::planted
