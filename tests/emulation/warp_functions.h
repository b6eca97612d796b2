#pragma once

// Barriers, shuffles and votes.

#include <cstring>
#include <type_traits>

#include "tests/emulation/thread.h"

inline void __syncthreads(gyre::emulation::Location location = gyre::emulation::Location::Here()) {
  gyre::emulation::BlockBarrier(location);
}
inline void __syncwarp(unsigned mask = ~0u,
                       gyre::emulation::Location location = gyre::emulation::Location::Here()) {
  gyre::emulation::WarpBarrier(mask, location);
}

namespace gyre::emulation {

/// The value of `source`, a lane of this one's group of `width`; outside of it: this one's own.
template <typename T>
T Shuffle(unsigned mask, T value, int source, int width, Location location) {
  static_assert(sizeof(T) <= 16 && std::is_trivially_copyable_v<T>);
  WarpExchange(mask, &value, sizeof(value), WarpOperation::kShuffle, location);
  const int lane = current_thread->lane;
  const int group = lane & ~(width - 1);
  if (source < group || source >= group + width) source = lane;
  if ((mask >> source & 1) == 0) {
    Fail("shuffle reads a lane outside of its mask: " + ToString(location));
  }
  std::memcpy(&value, GivenBy(source), sizeof(value));
  EndWarpExchange();
  return value;
}

}  // namespace gyre::emulation

template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize,
              gyre::emulation::Location location = gyre::emulation::Location::Here()) {
  const int group = gyre::emulation::current_thread->lane & ~(width - 1);
  return gyre::emulation::Shuffle(mask, value, group + (source & (width - 1)), width, location);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = warpSize,
                  gyre::emulation::Location location = gyre::emulation::Location::Here()) {
  const int source = gyre::emulation::current_thread->lane ^ lanes;
  return gyre::emulation::Shuffle(mask, value, source, width, location);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned lanes, int width = warpSize,
                   gyre::emulation::Location location = gyre::emulation::Location::Here()) {
  const int source = gyre::emulation::current_thread->lane + static_cast<int>(lanes);
  return gyre::emulation::Shuffle(mask, value, source, width, location);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned lanes, int width = warpSize,
                 gyre::emulation::Location location = gyre::emulation::Location::Here()) {
  const int source = gyre::emulation::current_thread->lane - static_cast<int>(lanes);
  return gyre::emulation::Shuffle(mask, value, source, width, location);
}

inline unsigned __ballot_sync(
    unsigned mask, int predicate,
    gyre::emulation::Location location = gyre::emulation::Location::Here()) {
  gyre::emulation::WarpExchange(mask, &predicate, sizeof(predicate),
                                gyre::emulation::WarpOperation::kVote, location);
  unsigned votes = 0;
  for (int lane = 0; lane < warpSize; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    std::memcpy(&predicate, gyre::emulation::GivenBy(lane), sizeof(predicate));
    votes |= unsigned{predicate != 0} << lane;
  }
  gyre::emulation::EndWarpExchange();
  return votes;
}
inline int __any_sync(unsigned mask, int predicate,
                      gyre::emulation::Location location = gyre::emulation::Location::Here()) {
  return __ballot_sync(mask, predicate, location) != 0;
}
inline int __all_sync(unsigned mask, int predicate,
                      gyre::emulation::Location location = gyre::emulation::Location::Here()) {
  return __ballot_sync(mask, predicate, location) == mask;
}
