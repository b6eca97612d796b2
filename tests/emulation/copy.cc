// Copies and fills.

#include <cuda_runtime.h>

#include <cstring>
#include <memory>
#include <vector>

#include "tests/emulation/error.h"
#include "tests/emulation/memory.h"
#include "tests/emulation/options.h"
#include "tests/emulation/stream.h"

namespace gyre::emulation {
namespace {

void RequireHostMemory(const void* data, const char* what) {
  if (IsDeviceMemory(data)) Fail(std::string(what) + " is device memory");
}

void CheckEnds(const void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDefault) return;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  to_device ? RequireDeviceMemory(to, bytes, "what a copy writes")
            : RequireHostMemory(to, "what a copy to the host writes");
  from_device ? RequireDeviceMemory(from, bytes, "what a copy reads")
              : RequireHostMemory(from, "what a copy from the host reads");
}

}  // namespace
}  // namespace gyre::emulation

using namespace gyre::emulation;

extern "C" {

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  CheckEnds(to, from, bytes, kind);
  if (!IsDeviceMemory(from) && !IsPinned(from)) {
    // Memory that isn't pinned has been read when the call returns.
    const auto* source = static_cast<const char*>(from);
    auto staged = std::make_shared<std::vector<char>>(source, source + bytes);
    Submit(stream, [to, staged, bytes] {
      const DeviceMemoryOpen open;
      std::memcpy(to, staged->data(), bytes);
    });
    return cudaSuccess;
  }
  Submit(stream, [to, from, bytes] {
    const DeviceMemoryOpen open;
    std::memcpy(to, from, bytes);
  });
  if (!IsDeviceMemory(to) && !IsPinned(to)) FinishStream(stream);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  FinishStream(nullptr);
  return error;
}

cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  RequireDeviceMemory(data, bytes, "what cudaMemset fills");
  Submit(stream, [data, value, bytes] {
    const DeviceMemoryOpen open;
    std::memset(data, value, bytes);
  });
  return cudaSuccess;
}
cudaError_t cudaMemset(void* data, int value, size_t bytes) {
  return cudaMemsetAsync(data, value, bytes, nullptr);
}

}  // extern "C"
