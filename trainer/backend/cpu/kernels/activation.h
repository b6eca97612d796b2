#pragma once

// Activations of a register of floats. Everything here is inlined: code of one instruction set must
// never be shared with another.

#include "trainer/backend/cpu/kernels/lanes.h"
#include "trainer/backend/cpu/kernels/vector_math.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {

// Both activations are z sigmoid(u(z)), since (1 + tanh(u / 2)) / 2 = sigmoid(u). Exponent is
// log2(e^-u).
struct Silu {
  [[gnu::always_inline]] static Floats Exponent(Floats z) { return -kLog2E * z; }
  [[gnu::always_inline]] static Floats ArgumentSlope(Floats) { return Broadcast(1); }
};
struct GeluTanh {
  static constexpr float kTwice = 1.5957691216f;  // 2 sqrt(2 / pi)
  static constexpr float kCubic = 0.044715f;
  [[gnu::always_inline]] static Floats Exponent(Floats z) {
    return z * (-kLog2E * kTwice + -kLog2E * kTwice * kCubic * z * z);
  }
  [[gnu::always_inline]] static Floats ArgumentSlope(Floats z) {
    return kTwice + 3 * kTwice * kCubic * z * z;
  }
};

// e^-u, at most 2^126: its inverse is no denormal number either.
template <typename A>
[[gnu::always_inline]] inline Floats InverseExp(Floats z) {
  const Floats x = A::Exponent(z);
  return Exp2(x > 126.0f ? Broadcast(126) : x);
}

template <typename A>
[[gnu::always_inline]] inline Floats Active(Floats z) {
  return z * Inverse(1 + InverseExp<A>(z));
}

struct ActiveSlope {
  Floats active, slope;
};
template <typename A>
[[gnu::always_inline]] inline ActiveSlope ActiveAndSlope(Floats z) {
  const Floats e = InverseExp<A>(z);
  const Floats sigmoid = Inverse(1 + e);
  const Floats rest = e * sigmoid;  // 1 - sigmoid, without cancellation
  const Floats active = z * sigmoid;
  return {active, sigmoid + active * rest * A::ArgumentSlope(z)};
}

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
