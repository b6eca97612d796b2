#include "trainer/backend/cuda/device_memory.h"

#include <cstdlib>
#include <string>

#include "trainer/backend/cuda/check.h"

namespace gyre::cuda {
namespace {

std::string MiB(size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

DeviceMemory::DeviceMemory(int device, cudaStream_t stream) : device_(device), stream_(stream) {
  const char* way = std::getenv("GYRE_CUDA_MEMORY");
  size_t free = 0;
  GYRE_CUDA(cudaMemGetInfo(&free, &total_));
  int supported = 0;
  GYRE_CUDA(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device));
  pooled_ = supported != 0 && (way == nullptr || std::string(way) != "plain");
  if (!pooled_) return;
  GYRE_CUDA(cudaDeviceGetDefaultMemPool(&pool_, device));
  uint64_t keep = UINT64_MAX;
  GYRE_CUDA(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep));
}

// Others share the device; and what this process held would not be free for its next job either.
DeviceMemory::~DeviceMemory() {
  if (pool_ == nullptr) return;
  cudaStreamSynchronize(stream_);
  cudaMemPoolTrimTo(pool_, 0);
}

void* DeviceMemory::Take(int64_t bytes, int64_t count) {
  void* memory = nullptr;
  cudaError_t error = cudaErrorMemoryAllocation;
  const size_t size = static_cast<size_t>(bytes > 0 ? bytes : 1);
  const auto take = [&] {
    return pooled_ ? cudaMallocAsync(&memory, size, stream_) : cudaMalloc(&memory, size);
  };
  if (bytes >= 0 && size <= total_) error = take();
  if (error == cudaErrorMemoryAllocation && pooled_ && size <= total_) {
    // What the pool has may lie in pieces that are too small: the driver gets them back.
    cudaGetLastError();
    GYRE_CUDA(cudaStreamSynchronize(stream_));
    GYRE_CUDA(cudaMemPoolTrimTo(pool_, 0));
    error = take();
  }
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // not sticky: the device goes on
    size_t free = 0, total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) free = total = 0;
    throw CudaError{{BackendError::Kind::kOutOfMemory,
                     "no memory for " + std::to_string(count) + " numbers on cuda:" +
                         std::to_string(device_) + ", of whose " + MiB(total) + " " + MiB(free) +
                         " are free; a smaller model or micro-batch needs less"}};
  }
  GYRE_CUDA(error);
  return memory;
}

// Without a pool the driver waits for the kernels that use it. An error here will come again.
void DeviceMemory::Give(void* memory) noexcept {
  if (pooled_) {
    cudaFreeAsync(memory, stream_);
  } else {
    cudaFree(memory);
  }
}

}  // namespace gyre::cuda
