#pragma once

// Functions of a register of floats. Everything here is inlined: code of one instruction set must
// never be shared with another.

#include <cstdint>

#include "trainer/backend/cpu/kernels/lanes.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {

inline constexpr float kLog2E = 1.44269504f, kLn2 = 0.693147181f;

/// 2^x for x <= 127, relative error below 2e-7; 0 below -126 (no denormal numbers), NaN stays NaN.
/// e^x = Exp2(kLog2E x): rounding that product costs e^x the relative error |x| 1e-7, which is
/// little where e^x is added to something near 1.
[[gnu::always_inline]] inline Floats Exp2(Floats x) {
  // Adding 1.5 * 2^23 leaves no bits behind the point, adding 127 makes the lowest the exponent of
  // the power of two.
  constexpr float kRound = 12582912.0f + 127;
  const Floats rounded = x + kRound;
  const Floats r = x - (rounded - kRound);
  // The minimax polynomial of 2^r on |r| <= 1/2 that is exact at 0.
  Floats p = 1.5594677550e-4f * r + 1.3406643905e-3f;
  p = p * r + 9.6176929749e-3f;
  p = p * r + 5.5503105510e-2f;
  p = p * r + 2.4022652783e-1f;
  p = p * r + 6.9314721497e-1f;
  p = p * r + 1.0f;
  const Floats power = __builtin_bit_cast(Floats, __builtin_bit_cast(Bits, rounded) << 23);
  return x < -126.0f ? Floats{} : p * power;
}

/// ln x of a normal number above 0, within 2e-7 of it, or relative to it; NaN stays NaN.
[[gnu::always_inline]] inline Floats Log(Floats x) {
  // x = m 2^exponent, sqrt(1/2) <= m < sqrt(2).
  const Bits bits = __builtin_bit_cast(Bits, x);
  constexpr uint32_t kRootOfHalf = 0x3f3504f3;
  const Ints exponent = __builtin_bit_cast(Ints, bits - kRootOfHalf) >> 23;
  const Bits scaled = bits - (__builtin_bit_cast(Bits, exponent) << 23);
  const Floats f = __builtin_bit_cast(Floats, scaled) - 1.0f;
  const Floats power = __builtin_convertvector(exponent, Floats);
  // The polynomial of Cephes' logf.
  Floats p = 7.0376836292e-2f * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  const Floats rest = p * f * f * f - 0.5f * f * f - 2.12194440e-4f * power;  // ln 2 in two parts
  return x == x ? (f + rest) + 0.693359375f * power : x;
}

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
