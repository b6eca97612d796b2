#pragma once

// What an operation of the CPU backend computes with: threads, kernels, scratch memory. Operations
// are free functions (operations.h) that take a Device; they allocate nothing.

#include <atomic>

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
  std::atomic<bool> product_failed{false};

  int threads() const { return pool.size(); }
  void Multiply(const MatrixProduct& product) {
    if (!cpu::Multiply(product)) product_failed.store(true, std::memory_order_relaxed);
  }
};

/// The elements of a place: memory is the machine's own.
inline float* Data(Reals place) { return static_cast<float*>(place.memory) + place.offset; }
inline int32_t* Data(Ints place) { return static_cast<int32_t*>(place.memory) + place.offset; }

}  // namespace gyre::cpu
