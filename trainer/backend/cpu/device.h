#pragma once

// What an operation of the CPU backend computes with: threads, kernels, scratch memory. Operations
// are free functions (operations.h) that take a Device; they allocate nothing. Narrow is what
// products multiply: float, or Bf16.

#include <atomic>
#include <type_traits>

#include "trainer/backend/backend.h"
#include "trainer/backend/cpu/kernels/kernels.h"
#include "trainer/backend/cpu/matrix_product.h"
#include "trainer/backend/cpu/thread_pool.h"
#include "trainer/backend/cpu/workspace.h"

namespace gyre::cpu {

struct Device {
  ThreadPool& pool;
  const Kernels& kernels;
  Workspace& workspace;

  int threads() const { return pool.size(); }
};

template <typename Narrow>
struct NarrowDevice : Device {
  const NarrowKernels<Narrow>& narrow;
  std::atomic<bool> product_failed{false};

  /// x (count) as products take it: itself, or rounded, in `rounded`.
  const Narrow* Narrowed(const float* x, int64_t count, Narrow* rounded) const {
    if constexpr (std::is_same_v<Narrow, float>) {
      return x;
    } else {
      narrow.narrow(x, count, rounded);
      return rounded;
    }
  }
  /// Where numbers are computed that will be narrow ones at `place`: there, or in `wide`.
  static float* Wide([[maybe_unused]] Narrow* place, [[maybe_unused]] float* wide) {
    if constexpr (std::is_same_v<Narrow, float>) {
      return place;
    } else {
      return wide;
    }
  }

  /// Whether products over k numbers with a packed matrix of n columns go by tiles.
  bool Tiled(int64_t k, int64_t n) const {
    return std::is_same_v<Narrow, Bf16> && kernels.tiles.available && k % kTileDepth == 0 &&
           n % kLanes == 0;
  }
  void Multiply(const TileProduct<float>& product) const { kernels.tiles.multiply(product); }
  void Multiply(const TileProduct<Bf16>& product) const {
    kernels.tiles.multiply_to_narrow(product);
  }
  template <typename In, typename Out>
  void Multiply(const MatrixProduct<In, Out>& product) {
    if (!cpu::Multiply(product)) product_failed.store(true, std::memory_order_relaxed);
  }
  void Pack(const PackedMatrix<Narrow>& matrix, int thread) {
    if constexpr (std::is_same_v<Narrow, Bf16>) {
      if (Tiled(matrix.k, matrix.n)) return PackTiles(matrix, thread);
    }
    if (!cpu::Pack(matrix, thread, threads())) {
      product_failed.store(true, std::memory_order_relaxed);
    }
  }

 private:
  void PackTiles(const PackedMatrix<Bf16>& matrix, int thread) const {
    const Range columns = Split({0, matrix.n}, threads(), thread, kTileStrip);
    const Matrix<float>& from = matrix.source;
    Bf16* const to = matrix.packed + columns.begin * matrix.k;
    if (from.layout == Layout::kRows) {
      kernels.tiles.pack_float_rows(from.data + columns.begin, from.stride, matrix.k,
                                    columns.size(), 0, matrix.k, to);
    } else {
      kernels.tiles.pack_float_columns(from.data + columns.begin * from.stride, from.stride,
                                       columns.size(), matrix.k, to);
    }
  }
};

inline const NarrowKernels<float>& KernelsOf(const Kernels& kernels, float) {
  return kernels.to_float;
}
inline const NarrowKernels<Bf16>& KernelsOf(const Kernels& kernels, Bf16) {
  return kernels.to_bf16;
}

/// The elements of a place: memory is the machine's own.
inline float* Data(Reals place) { return static_cast<float*>(place.memory) + place.offset; }
inline int32_t* Data(Ints place) { return static_cast<int32_t*>(place.memory) + place.offset; }
template <typename Element>
Element* Data(Narrows place) {
  return static_cast<Element*>(place.memory) + place.offset;
}

}  // namespace gyre::cpu
