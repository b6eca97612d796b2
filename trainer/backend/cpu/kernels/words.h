#pragma once

// Squares of 32-bit words, one row a register, and their transposition in registers: log2(lanes)
// rounds of exchanges between pairs of rows. Bf16 goes in pairs of rows, each pair a word.
// Everything here is inlined: code of one instruction set must never be shared with another.

#include <cstdint>

#include "trainer/backend/cpu/kernels/lanes.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {

typedef uint32_t Words __attribute__((vector_size(kWidth * 4), aligned(2), may_alias));

// Lane c of round kDistance: from the first row where bit kDistance of c is 0 (or, for the second
// result, the lane kDistance further), else from the second row.
template <int kDistance>
struct Exchange {
  Words low, high;
  constexpr Exchange() : low(), high() {
    for (int c = 0; c < kWidth; ++c) {
      const bool second = (c & kDistance) != 0;
      low[c] = static_cast<uint32_t>(second ? kWidth + c - kDistance : c);
      high[c] = static_cast<uint32_t>(second ? kWidth + c : c + kDistance);
    }
  }
};

template <int kDistance>
[[gnu::always_inline]] inline void TransposeFrom(Words* rows) {
  if constexpr (kDistance < kWidth) {
    const Exchange<kDistance> exchange;
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i) {
      if ((i & kDistance) != 0) continue;
      const Words a = rows[i], b = rows[i + kDistance];
      rows[i] = __builtin_shuffle(a, b, exchange.low);
      rows[i + kDistance] = __builtin_shuffle(a, b, exchange.high);
    }
    TransposeFrom<kDistance * 2>(rows);
  }
}

[[gnu::always_inline]] inline Words LoadWords(const float* x, int row, int64_t stride) {
  return *reinterpret_cast<const Words*>(x + row * stride);
}
[[gnu::always_inline]] inline Words LoadWords(const Bf16* x, int row, int64_t stride) {
  Halves even, odd;
  __builtin_memcpy(&even, x + 2 * row * stride, sizeof(even));
  __builtin_memcpy(&odd, x + (2 * row + 1) * stride, sizeof(odd));
  return Extended(even) | (Extended(odd) << 16);
}

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
