#include "trainer/backend/cuda/check.h"

namespace gyre::cuda {

void ThrowCudaError(cudaError_t error, const char* call) {
  const bool memory = error == cudaErrorMemoryAllocation;
  throw CudaError{{memory ? BackendError::Kind::kOutOfMemory : BackendError::Kind::kDevice,
                   std::string(call) + ": " + cudaGetErrorString(error) + " (" +
                       cudaGetErrorName(error) + ")"}};
}

}  // namespace gyre::cuda
