#include "tests/emulation/memory.h"

#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "tests/emulation/device.h"
#include "tests/emulation/error.h"
#include "tests/emulation/options.h"
#include "tests/emulation/sanitizers.h"
#include "tests/emulation/stream.h"

struct CUmemPoolHandle_st {};

namespace gyre::emulation {
namespace {

// Larger ones are neither filled nor hidden from the host: that takes longer than what is tested.
constexpr size_t kMostWatched = 8 << 20;

struct Allocation {
  size_t bytes = 0;
  int device = 0;
  bool freed = false;  // nobody may use it any more, though the free waits in a stream
};

template <typename Block>
using Blocks = std::map<uintptr_t, Block>;

/// The block that holds an address, or end().
template <typename Block>
typename Blocks<Block>::iterator Find(Blocks<Block>& blocks, const void* data) {
  auto after = blocks.upper_bound(reinterpret_cast<uintptr_t>(data));
  return after == blocks.begin() ? blocks.end() : --after;
}

struct Heap {
  std::mutex mutex;
  Blocks<Allocation> allocations;
  Blocks<size_t> pinned;
  std::map<int, size_t> used_bytes;  // by device
  int open = 0;

  void ForEach(void (*act)(const void*, size_t)) {
    for (const auto& [address, allocation] : allocations) {
      if (allocation.bytes > kMostWatched) continue;
      act(reinterpret_cast<const void*>(address), allocation.bytes);
    }
  }
};

// Made before there are threads, which ThreadSanitizer would not see waiting for it; outlives
// whatever still frees at the end.
Heap* const the_heap = new Heap;
Heap& TheHeap() { return *the_heap; }

const Allocation* Holding(Heap& heap, const void* data, size_t bytes) {
  const auto found = Find(heap.allocations, data);
  if (found == heap.allocations.end() || found->second.freed) return nullptr;
  const uintptr_t end = found->first + found->second.bytes;
  return reinterpret_cast<uintptr_t>(data) + bytes <= end ? &found->second : nullptr;
}

cudaError_t Allocate(void** data, size_t bytes) {
  constexpr size_t kAlignment = 256;
  *data = nullptr;
  if (bytes == 0) return cudaSuccess;
  Heap& heap = TheHeap();
  const std::lock_guard lock(heap.mutex);
  size_t& used = heap.used_bytes[CurrentDevice()];
  uint64_t& left = TheOptions().allocations_to_failure;
  if (left > 0 && --left <= 1) return Remember(cudaErrorMemoryAllocation);
  if (bytes > TheOptions().memory_bytes - used || posix_memalign(data, kAlignment, bytes) != 0) {
    return Remember(cudaErrorMemoryAllocation);
  }
  used += bytes;
  heap.allocations[reinterpret_cast<uintptr_t>(*data)] = {bytes, CurrentDevice()};
  if (bytes > kMostWatched) return cudaSuccess;
  FillWithNaN(*data, bytes);
  if (heap.open == 0) Poison(*data, bytes);
  return cudaSuccess;
}

/// Whether it was an allocation, which from now on nobody may use.
bool MarkFreed(void* data) {
  Heap& heap = TheHeap();
  const std::lock_guard lock(heap.mutex);
  const auto found = heap.allocations.find(reinterpret_cast<uintptr_t>(data));
  if (found == heap.allocations.end() || found->second.freed) return false;
  found->second.freed = true;
  return true;
}

void Release(void* data) {
  Heap& heap = TheHeap();
  const std::lock_guard lock(heap.mutex);
  const auto found = heap.allocations.find(reinterpret_cast<uintptr_t>(data));
  heap.used_bytes[found->second.device] -= found->second.bytes;
  Unpoison(data, found->second.bytes);
  heap.allocations.erase(found);
  std::free(data);
}

}  // namespace

DeviceMemoryOpen::DeviceMemoryOpen() {
  Heap& heap = TheHeap();
  const std::lock_guard lock(heap.mutex);
  if (heap.open++ == 0) heap.ForEach(Unpoison);
}

DeviceMemoryOpen::~DeviceMemoryOpen() {
  Heap& heap = TheHeap();
  const std::lock_guard lock(heap.mutex);
  if (--heap.open == 0) heap.ForEach(Poison);
}

bool IsDeviceMemory(const void* data, size_t bytes) {
  Heap& heap = TheHeap();
  const std::lock_guard lock(heap.mutex);
  return Holding(heap, data, bytes) != nullptr;
}

void RequireDeviceMemory(const void* data, size_t bytes, const char* what) {
  Heap& heap = TheHeap();
  std::string wrong;
  {
    const std::lock_guard lock(heap.mutex);
    const Allocation* allocation = Holding(heap, data, bytes);
    if (allocation == nullptr) {
      wrong = " isn't within an allocation of device memory";
    } else if (allocation->device != CurrentDevice()) {
      wrong = " is memory of device " + std::to_string(allocation->device) + ", used on device " +
              std::to_string(CurrentDevice());
    }
  }
  if (!wrong.empty()) Fail(what + wrong);
}

bool IsPinned(const void* data) {
  Heap& heap = TheHeap();
  const std::lock_guard lock(heap.mutex);
  const auto found = Find(heap.pinned, data);
  return found != heap.pinned.end() &&
         reinterpret_cast<uintptr_t>(data) < found->first + found->second;
}

}  // namespace gyre::emulation

using namespace gyre::emulation;

extern "C" {

cudaError_t cudaMalloc(void** data, size_t bytes) { return Allocate(data, bytes); }

cudaError_t cudaFree(void* data) {
  if (data == nullptr) return cudaSuccess;
  FinishDevice();
  if (!MarkFreed(data)) return Remember(cudaErrorInvalidValue);
  Release(data);
  return cudaSuccess;
}

cudaError_t cudaMallocAsync(void** data, size_t bytes, cudaStream_t) {
  return Allocate(data, bytes);
}

cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
  if (data == nullptr) return cudaSuccess;
  if (!MarkFreed(data)) return Remember(cudaErrorInvalidValue);
  Submit(stream, [data] { Release(data); });
  return cudaSuccess;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  static CUmemPoolHandle_st the_pool;
  *pool = &the_pool;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  Heap& heap = TheHeap();
  const std::lock_guard lock(heap.mutex);
  *total = TheOptions().memory_bytes;
  *free = *total - heap.used_bytes[CurrentDevice()];
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned) {
  Heap& heap = TheHeap();
  const std::lock_guard lock(heap.mutex);
  *data = std::malloc(bytes);
  heap.pinned[reinterpret_cast<uintptr_t>(*data)] = bytes;
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** data, size_t bytes) { return cudaHostAlloc(data, bytes, 0); }

cudaError_t cudaFreeHost(void* data) {
  FinishDevice();
  Heap& heap = TheHeap();
  const std::lock_guard lock(heap.mutex);
  if (heap.pinned.erase(reinterpret_cast<uintptr_t>(data)) == 0 && data != nullptr) {
    return Remember(cudaErrorInvalidValue);
  }
  std::free(data);
  return cudaSuccess;
}

}  // extern "C"
