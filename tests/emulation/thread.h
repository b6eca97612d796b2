#pragma once

// A thread of a kernel as kernels see it, and what they call.

#include <cuda_runtime.h>

#include "tests/emulation/error.h"

// Variables, not macros: cudaLaunchConfig_t has members of these names.
extern thread_local constinit uint3 threadIdx, blockIdx, blockDim, gridDim;
inline constexpr int warpSize = 32;

namespace gyre::emulation {

/// 16 bytes on their way by cp.async; no `source`: zeros.
struct AsyncCopy {
  void* target;
  const void* source;
};

struct Thread {
  uint3 index = {};                    // threadIdx
  int number = 0, lane = 0, warp = 0;  // number: within the block
  int copies = 0, copy_groups = 0;     // under way; committed groups among them
  int group_copies[8];                 // of each group, oldest first
  AsyncCopy copy[256];                 // oldest first
};

/// The one that runs; null outside of kernels.
extern thread_local constinit Thread* current_thread;

// What lanes of a warp do together: all of a mask must come to the same operation at the same
// place.
enum class WarpOperation { kBarrier, kShuffle, kVote, kMultiply, kLoad, kLoadTransposed };

void BlockBarrier(Location location);
void WarpBarrier(unsigned mask, Location location);
/// Gives `value`, at most 32 bytes, and waits for the other lanes of the mask.
void WarpExchange(unsigned mask, const void* value, size_t bytes, WarpOperation operation,
                  Location location);
/// What a lane has given; until EndWarpExchange.
const void* GivenBy(int lane);
void EndWarpExchange();

/// One for each block and declaration, NaN at first.
void* SharedArray(const void* declaration, size_t bytes, size_t alignment);
void* DynamicShared();

}  // namespace gyre::emulation
