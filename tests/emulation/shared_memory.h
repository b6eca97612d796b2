#pragma once

// The shared memory of a block: every array NaN at first, with bytes between the arrays that nobody
// may touch.

#include <cstddef>
#include <utility>
#include <vector>

namespace gyre::emulation {

class SharedMemory {
 public:
  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// For a new block.
  void Begin(size_t dynamic_bytes);
  void* dynamic() const { return dynamic_; }
  void* Array(const void* declaration, size_t bytes, size_t alignment);

 private:
  void* Take(size_t bytes, size_t alignment);

  char* memory_ = nullptr;
  size_t used_ = 0;
  void* dynamic_ = nullptr;
  std::vector<std::pair<const void*, void*>> arrays_;  // by declaration
};

}  // namespace gyre::emulation
