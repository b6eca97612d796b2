#pragma once

// What every kernel source includes. nvcc sees plain CUDA; where kernels are executed on the CPU
// (tests/emulation) its header has been included before and has defined these two macros its way:
//   GPU_SHARED(float, sums, [32]);      an array shared by the threads of a block
//   GPU_DYN_SHARED(float, tile);        a pointer to the dynamic shared memory of the launch
// Kernels are launched by cudaLaunchKernelEx alone and take scalars, pointers and small structs of
// them; no atomics, no cooperative groups, PTX only in ptx.h.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#ifndef GPU_SHARED
#define GPU_SHARED(Type, name, ...) __shared__ Type name __VA_ARGS__
#define GPU_DYN_SHARED(Type, name)                                     \
  extern __shared__ __align__(16) unsigned char gpu_dynamic_shared_[]; \
  Type* const name = reinterpret_cast<Type*>(gpu_dynamic_shared_)
#endif
