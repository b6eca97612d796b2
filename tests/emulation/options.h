#pragma once

// How kernels are executed: GYRE_EMULATION=order=random,seed=3,lazy,devices=2,memory=64m,fail=7
// (each part may be left out), read once; a test may set the options instead, before its first call
// of CUDA.

#include <cstdint>

namespace gyre::emulation {

/// In which order the threads of a block run between barriers, and the blocks of a grid.
enum class Order { kForward, kReverse, kRandom };

struct Options {
  Order order = Order::kForward;
  uint64_t seed = 1;  // of kRandom and of lazy
  /// Work in a stream is done when somebody waits for it and no sooner, streams in random order.
  bool lazy = false;
  int devices = 1;
  uint64_t memory_bytes = uint64_t{4} << 30;  // of each device
  /// Allocations of device memory until two in a row have found none; 0 = all find some.
  uint64_t allocations_to_failure = 0;
};

/// Throws Error if the variable has a part that is not known.
Options& TheOptions();

}  // namespace gyre::emulation
