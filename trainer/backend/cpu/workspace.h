#pragma once

// Scratch memory of the operations: one block, planned for the largest shapes, that each operation
// divides anew. Nothing in it outlives an operation.

#include <algorithm>
#include <cstdint>

#include "trainer/backend/backend.h"
#include "trainer/backend/cpu/matrix_product.h"

namespace gyre::cpu {

/// Operations go through their rows this many at a time for each thread, so that what lies between
/// two products stays in its cache.
template <typename Narrow>
inline constexpr int64_t kRowsPerThread = 128;
/// Gradients of weights are products over so many rows of each thread. They are read and written
/// once for each: with few rows that takes longer than a product of Bf16 does.
template <typename Narrow>
inline constexpr int64_t kBlockRows = sizeof(Narrow) == sizeof(float) ? 128 : 256;
/// Attention looks at this many queries at a time: with more, more of what nobody sees is computed,
/// with fewer, products are too small to be fast. Products with keys take at most kKeyBlock. (By
/// tiles it goes by kTileStrip.)
template <typename Narrow>
inline constexpr int kQueryBlock = sizeof(Narrow) == sizeof(float) ? 64 : 128;
inline constexpr int kKeyBlock = 512;

/// Divides a block of memory into pieces on cache lines of their own; without memory it only
/// counts.
class Carver {
 public:
  explicit Carver(void* memory = nullptr) : memory_(static_cast<char*>(memory)) {}

  template <typename T>
  T* Take(int64_t count) {
    constexpr int64_t kLine = 64;
    const int64_t at = size_;
    size_ += (count * static_cast<int64_t>(sizeof(T)) + kLine - 1) / kLine * kLine;
    return memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + at);
  }
  int64_t size() const { return size_; }

 private:
  char* memory_;
  int64_t size_ = 0;
};

/// A piece for each thread.
template <typename T>
struct PerThread {
  PerThread() = default;
  PerThread(Carver* carver, int threads, int64_t count)
      : stride((count * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64 /
               static_cast<int64_t>(sizeof(T))),
        first(carver->Take<T>(stride * threads)) {}
  T* Of(int thread) const { return first + thread * stride; }

  int64_t stride = 0;
  T* first = nullptr;
};

class Workspace {
 public:
  Workspace() = default;
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  /// Grows to so many bytes at least.
  BackendError Reserve(int64_t bytes);
  int64_t bytes() const { return bytes_; }
  Carver Carve() const { return Carver(memory_); }

 private:
  void* memory_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace gyre::cpu
