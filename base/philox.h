#pragma once

// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): random
// bits as a function of a key and a counter.

#include <array>
#include <cstdint>

namespace gyre {

inline constexpr int kPhiloxRounds = 10;

/// One round, in place. Inline, so that loops over counters can be vectorized.
[[gnu::always_inline]] inline void PhiloxRound(uint64_t key, uint32_t* w0, uint32_t* w1,
                                               uint32_t* w2, uint32_t* w3) {
  constexpr uint32_t kFirst = 0xD2511F53, kSecond = 0xCD9E8D57;
  const auto high0 = static_cast<uint32_t>(uint64_t{kFirst} * *w0 >> 32);
  const auto high2 = static_cast<uint32_t>(uint64_t{kSecond} * *w2 >> 32);
  const uint32_t low0 = kFirst * *w0, low2 = kSecond * *w2;
  *w0 = high2 ^ *w1 ^ static_cast<uint32_t>(key);
  *w1 = low2;
  *w2 = high0 ^ *w3 ^ static_cast<uint32_t>(key >> 32);
  *w3 = low0;
}

/// The key of the next round: both halves grow on their own.
inline uint64_t NextPhiloxKey(uint64_t key) {
  const uint32_t low = static_cast<uint32_t>(key) + 0x9E3779B9;
  const uint32_t high = static_cast<uint32_t>(key >> 32) + 0xBB67AE85;
  return uint64_t{high} << 32 | low;
}

/// 128 bits from a 64-bit key and a 128-bit counter.
inline std::array<uint32_t, 4> Philox4x32(uint64_t key, uint64_t counter_high,
                                          uint64_t counter_low) {
  uint32_t w0 = static_cast<uint32_t>(counter_low), w1 = static_cast<uint32_t>(counter_low >> 32);
  uint32_t w2 = static_cast<uint32_t>(counter_high), w3 = static_cast<uint32_t>(counter_high >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round, key = NextPhiloxKey(key)) {
    PhiloxRound(key, &w0, &w1, &w2, &w3);
  }
  return {w0, w1, w2, w3};
}

}  // namespace gyre
