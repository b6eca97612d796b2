#include "tests/emulation/launch.h"

#include <sys/mman.h>

#include <climits>
#include <cstring>
#include <map>
#include <mutex>

#include "tests/emulation/block.h"
#include "tests/emulation/device.h"
#include "tests/emulation/error.h"
#include "tests/emulation/grid.h"
#include "tests/emulation/memory.h"
#include "tests/emulation/stream.h"

namespace gyre::emulation {
namespace {

class SharedLimits {
 public:
  void Set(const void* kernel, size_t bytes) {
    const std::lock_guard lock(mutex_);
    limits_[kernel] = bytes;
  }
  size_t Of(const void* kernel) {
    const std::lock_guard lock(mutex_);
    const auto found = limits_.find(kernel);
    return found == limits_.end() ? kSharedBytesWithoutAsking : found->second;
  }

 private:
  std::mutex mutex_;
  std::map<const void*, size_t> limits_;
};

SharedLimits& TheSharedLimits() {
  static SharedLimits limits;
  return limits;
}

bool IsMapped(uint64_t address) {
  constexpr uint64_t kPage = 4096;
  return msync(reinterpret_cast<void*>(address & ~(kPage - 1)), 1, MS_ASYNC) == 0;
}

}  // namespace

void CheckPointer(const void* argument) {
  if (argument != nullptr) RequireDeviceMemory(argument, 0, "an argument of a kernel");
}

void CheckStruct(const void* argument, size_t bytes) {
  constexpr uint64_t kFirst = uint64_t{0x55} << 40;  // where Linux puts heaps and stacks
  constexpr uint64_t kEnd = uint64_t{1} << 47;
  for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, static_cast<const char*>(argument) + i, sizeof(word));
    if (word < kFirst || word >= kEnd) continue;
    if (!IsDeviceMemory(reinterpret_cast<const void*>(word), 0) && IsMapped(word)) {
      Fail("a struct that is an argument of a kernel holds a pointer to host memory");
    }
  }
}

cudaError_t Launch(const cudaLaunchConfig_t& config, const void* kernel,
                   std::function<void()> body) {
  constexpr unsigned kMostDeep = 64, kMostBlocksYZ = 65535;
  const dim3 grid = config.gridDim, threads = config.blockDim;
  const uint64_t count = uint64_t{threads.x} * threads.y * threads.z;
  if (count == 0 || count > kMostThreads || threads.z > kMostDeep || grid.x == 0 || grid.y == 0 ||
      grid.z == 0 || grid.x > INT_MAX || grid.y > kMostBlocksYZ || grid.z > kMostBlocksYZ) {
    return Remember(cudaErrorInvalidConfiguration);
  }
  const size_t shared = config.dynamicSmemBytes;
  if (shared > TheSharedLimits().Of(kernel)) return Remember(cudaErrorInvalidValue);
  if (config.numAttrs != 0) Fail("attributes of a launch are not emulated");
  Submit(config.stream,
         [grid, threads, shared, body = std::move(body)] { RunGrid(grid, threads, shared, body); });
  return cudaSuccess;
}

}  // namespace gyre::emulation

using namespace gyre::emulation;

extern "C" cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute,
                                            int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || static_cast<size_t>(value) > kMostSharedBytes) {
    return Remember(cudaErrorInvalidValue);
  }
  TheSharedLimits().Set(kernel, static_cast<size_t>(value));
  return cudaSuccess;
}
