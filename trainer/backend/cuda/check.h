#pragma once

// Errors of CUDA's libraries inside the plug-in: a call that fails throws, and cuda_backend.cc
// catches it where the call of the Backend began. Nothing else may throw this or catch it.

#include <cuda_runtime.h>

#include <string>

#include "trainer/backend/backend.h"

namespace gyre::cuda {

struct CudaError {
  BackendError error;
};

/// "cudaMallocAsync(&data, bytes, stream): out of memory (cudaErrorMemoryAllocation)"
[[noreturn]] void ThrowCudaError(cudaError_t error, const char* call);

inline void Check(cudaError_t error, const char* call) {
  if (error != cudaSuccess) ThrowCudaError(error, call);
}
#define GYRE_CUDA(call) ::gyre::cuda::Check((call), #call)

}  // namespace gyre::cuda
