#pragma once

#include <algorithm>

#include "trainer/backend/cpu/device.h"

namespace gyre::cpu {

/// A vector that every thread adds to on its own, starting from 0; in the end they are added in the
/// threads' order.
class ThreadSums {
 public:
  /// Elements offset .. offset + count - 1 of the workspace's sums.
  ThreadSums(Device& device, int offset, int count)
      : device_(device), offset_(offset), count_(count) {
    for (int thread = 0; thread < device_.threads(); ++thread)
      std::fill_n(Of(thread), count_, 0.0f);
  }

  float* Of(int thread) const { return device_.workspace.sums(thread) + offset_; }

  void AddTo(float* total) const {
    for (int thread = 0; thread < device_.threads(); ++thread) {
      device_.kernels.add_scaled(Of(thread), 1, count_, total);
    }
  }

 private:
  Device& device_;
  int offset_, count_;
};

}  // namespace gyre::cpu
