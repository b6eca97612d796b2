#pragma once

#include <algorithm>
#include <random>

#include "base/clock.h"

namespace gyre {

/// How long to wait before each next try: 200 ms, doubling to 1 s, each shortened by up to half at
/// random so that many workers don't come back in step. One thread.
class Backoff {
 public:
  Millis Next() {
    const Millis longest = next_;
    next_ = std::min(next_ * 2, kMost);
    return Millis(
        std::uniform_int_distribution<Millis::rep>(longest.count() / 2, longest.count())(random_));
  }
  void Reset() { next_ = kFirst; }

 private:
  static constexpr Millis kFirst{200}, kMost{1000};
  Millis next_ = kFirst;
  std::minstd_rand random_{std::random_device()()};
};

}  // namespace gyre
