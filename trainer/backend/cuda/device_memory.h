#pragma once

// Memory of one device in the order of one stream: what is freed can be taken again by whatever
// comes later in the stream, without waiting for anything. The driver's pool keeps what was freed;
// GYRE_CUDA_MEMORY=plain asks the driver for every tensor and gives it back, so that a memory
// checker sees each of them.

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

namespace gyre::cuda {

class DeviceMemory {
 public:
  DeviceMemory(int device, cudaStream_t stream);
  /// Everything has been given back. So does the pool, to the driver.
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// Not initialized. Throws CudaError of kOutOfMemory, with what is free.
  void* Take(int64_t bytes, int64_t count);
  void Give(void* memory) noexcept;

 private:
  const int device_;
  const cudaStream_t stream_;
  size_t total_ = 0;  // bytes of the device
  bool pooled_ = true;
  cudaMemPool_t pool_ = nullptr;
};

/// `count` elements for the time of one operation.
template <typename Element>
class Temporary {
 public:
  Temporary(DeviceMemory& memory, int64_t count)
      : memory_(memory),
        data_(static_cast<Element*>(
            count == 0 ? nullptr
                       : memory.Take(count * static_cast<int64_t>(sizeof(Element)), count))) {}
  ~Temporary() {
    if (data_ != nullptr) memory_.Give(data_);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  operator Element*() const { return data_; }

 private:
  DeviceMemory& memory_;
  Element* const data_;
};

}  // namespace gyre::cuda
