#pragma once

// Functions of one float that loops over many can be vectorized through. Everything here is
// inlined: code of one instruction set must never be shared with another.

#include <cstdint>

namespace gyre::cpu {

/// e^x, relative error below 2e-7; 0 below -87.3 (no denormal numbers), e^88 above 88, NaN stays
/// NaN.
[[gnu::always_inline]] inline float Exp(float x) {
  constexpr float kLowest = -87.3f, kHighest = 88.0f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves no bits behind the point
  const float low = x < kLowest ? kLowest : x;
  const float y = low > kHighest ? kHighest : low;
  const float n = (y * 1.44269504f + kRound) - kRound;
  const float r = (y - n * 0.693359375f) - n * -2.12194440e-4f;  // ln 2 in two parts
  // The minimax polynomial of Cephes' expf on |r| <= ln(2) / 2.
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const int32_t exponent = (static_cast<int32_t>(n) + 127) << 23;
  const float power = p * __builtin_bit_cast(float, exponent);
  return x < kLowest ? 0.0f : power;
}

}  // namespace gyre::cpu
