#pragma once

// Registers of floats, as wide as the instruction set's, and loops over rows by registers. What is
// computed for an element is the same expression wherever it stands in its row. Everything here is
// inlined, provided the function that uses it is [[gnu::flatten]]: code of one instruction set must
// never be shared with another.

#include <cstdint>

#include "trainer/backend/cpu/kernels/kernels.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace gyre::cpu::GYRE_INSTRUCTION_SET {

#if defined(__AVX512F__)
inline constexpr int kWidth = 16;
#elif defined(__AVX2__)
inline constexpr int kWidth = 8;
#else
inline constexpr int kWidth = 4;
#endif
static_assert(kLanes % kWidth == 0);

using Floats = float __attribute__((vector_size(4 * kWidth)));
using Ints = int32_t __attribute__((vector_size(4 * kWidth)));
using Bits = uint32_t __attribute__((vector_size(4 * kWidth)));
using Halves = uint16_t __attribute__((vector_size(2 * kWidth)));

/// A whole register, or its first `count` lanes: the others are read as zeros and not written.
struct Whole {};
struct Part {
  int count;
};

[[gnu::always_inline]] inline Floats Broadcast(float x) { return x - Floats{}; }

/// 0, 1, 2, ...
[[gnu::always_inline]] inline Ints Count() {
  constexpr int32_t kCount[kLanes] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  Ints count;
  __builtin_memcpy(&count, kCount, sizeof(count));
  return count;
}

[[gnu::always_inline]] inline Floats Larger(Floats a, Floats b) { return a > b ? a : b; }

[[gnu::always_inline]] inline Floats SquareRoot(Floats x) {
  Floats root;
  for (int i = 0; i < kWidth; ++i) root[i] = __builtin_sqrtf(x[i]);
  return root;
}

/// 1 / x of what is at least 1, within 2e-7 where there is an estimate that all processors with the
/// instruction set give alike. A division keeps the processor busy for 16 cycles.
[[gnu::always_inline]] inline Floats Inverse(Floats x) {
#ifdef __AMX_BF16__
  const Floats y = _mm512_maskz_rcp14_ps(0xffff, x);
  return y + y * (1 - x * y);
#else
  return 1 / x;
#endif
}

// The compiler's own conversions between widths go through halves of registers. (The intrinsics
// without a mask make g++ 12 warn of what they leave undefined.)
[[gnu::always_inline]] inline Bits Extended(Halves x) {
#ifdef __AVX512F__
  return __builtin_bit_cast(Bits,
                            _mm512_maskz_cvtepu16_epi32(0xffff, __builtin_bit_cast(__m256i, x)));
#elif defined(__AVX2__)
  return __builtin_bit_cast(Bits, _mm256_cvtepu16_epi32(__builtin_bit_cast(__m128i, x)));
#else
  return __builtin_convertvector(x, Bits);
#endif
}
[[gnu::always_inline]] inline Halves Lower(Bits x) {
#ifdef __AVX512F__
  return __builtin_bit_cast(Halves,
                            _mm512_maskz_cvtepi32_epi16(0xffff, __builtin_bit_cast(__m512i, x)));
#else
  return __builtin_convertvector(x, Halves);
#endif
}

[[gnu::always_inline]] inline Floats Widened(Halves x) {
  return __builtin_bit_cast(Floats, Extended(x) << 16);
}

/// To nearest, ties to even; a NaN stays one, with its upper bits, and is quiet; denormal numbers
/// become zeros. This is what the instruction for it does, and the others do alike.
[[gnu::always_inline]] inline Halves Narrowed(Floats x) {
#ifdef __AVX512BF16__
  return __builtin_bit_cast(Halves, _mm512_cvtneps_pbh(x));
#else
  const Bits bits = __builtin_bit_cast(Bits, x);
  const Bits rounded = bits + ((bits >> 16 & 1) + 0x7fff);
  const Bits finite = (bits & 0x7f800000) == 0 ? bits & 0x80000000 : rounded;
  return Lower((x == x ? finite : bits | 0x400000) >> 16);
#endif
}

[[gnu::always_inline]] inline Floats Load(Whole, const float* p) {
  Floats x;
  __builtin_memcpy(&x, p, sizeof(x));
  return x;
}
[[gnu::always_inline]] inline Floats Load(Whole, const Bf16* p) {
  Halves x;
  __builtin_memcpy(&x, p, sizeof(x));
  return Widened(x);
}
[[gnu::always_inline]] inline void Store(Whole, Floats x, float* p) {
  __builtin_memcpy(p, &x, sizeof(x));
}
[[gnu::always_inline]] inline void Store(Whole, Floats x, Bf16* p) {
  const Halves narrow = Narrowed(x);
  __builtin_memcpy(static_cast<void*>(p), &narrow, sizeof(narrow));
}

/// As Store, past the caches, where p is aligned to the register.
[[gnu::always_inline]] inline void Stream(Whole, Floats x, float* p) {
#if defined(__AVX512F__)
  _mm512_stream_ps(p, x);
#elif defined(__AVX2__)
  _mm256_stream_ps(p, x);
#else
  Store(Whole{}, x, p);
#endif
}
[[gnu::always_inline]] inline void Stream(Whole, Floats x, Bf16* p) {
#ifdef __AVX512F__
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), __builtin_bit_cast(__m256i, Narrowed(x)));
#else
  Store(Whole{}, x, p);
#endif
}

#ifdef __AVX512F__
[[gnu::always_inline]] inline __mmask16 Mask(Part part) {
  return static_cast<__mmask16>((1u << part.count) - 1);
}
[[gnu::always_inline]] inline Floats Load(Part part, const float* p) {
  return _mm512_maskz_loadu_ps(Mask(part), p);
}
[[gnu::always_inline]] inline Floats Load(Part part, const Bf16* p) {
  return Widened(__builtin_bit_cast(Halves, _mm256_maskz_loadu_epi16(Mask(part), p)));
}
[[gnu::always_inline]] inline void Store(Part part, Floats x, float* p) {
  _mm512_mask_storeu_ps(p, Mask(part), x);
}
[[gnu::always_inline]] inline void Store(Part part, Floats x, Bf16* p) {
  _mm256_mask_storeu_epi16(p, Mask(part), __builtin_bit_cast(__m256i, Narrowed(x)));
}
#else
[[gnu::always_inline]] inline Floats Load(Part part, const float* p) {
  float x[kWidth] = {};
  for (int i = 0; i < part.count; ++i) x[i] = p[i];
  return Load(Whole{}, x);
}
[[gnu::always_inline]] inline Floats Load(Part part, const Bf16* p) {
  Bf16 x[kWidth] = {};
  for (int i = 0; i < part.count; ++i) x[i] = p[i];
  return Load(Whole{}, x);
}
template <typename Narrow>
[[gnu::always_inline]] inline void Store(Part part, Floats x, Narrow* p) {
  Narrow y[kWidth];
  Store(Whole{}, x, y);
  for (int i = 0; i < part.count; ++i) p[i] = y[i];
}
#endif

template <typename Narrow>
[[gnu::always_inline]] inline void Stream(Part part, Floats x, Narrow* p) {
  Store(part, x, p);
}

/// body(where, lanes) for all of [0, n).
template <typename Body>
[[gnu::always_inline]] inline void ForLanes(int64_t n, const Body& body) {
  int64_t c = 0;
  for (; c + kWidth <= n; c += kWidth) body(c, Whole{});
  if (c < n) body(c, Part{static_cast<int>(n - c)});
}

/// x with its lanes in the order i ^ step.
[[gnu::always_inline]] inline Floats Swapped(Floats x, int step) {
  return __builtin_shuffle(x, Count() ^ step);
}

[[gnu::always_inline]] inline float SumOfLanes(Floats x) {
  if constexpr (kWidth > 8) x += Swapped(x, 8);
  if constexpr (kWidth > 4) x += Swapped(x, 4);
  x += Swapped(x, 2);
  x += Swapped(x, 1);
  return x[0];
}

[[gnu::always_inline]] inline float LargestLane(Floats x) {
  if constexpr (kWidth > 8) x = Larger(x, Swapped(x, 8));
  if constexpr (kWidth > 4) x = Larger(x, Swapped(x, 4));
  x = Larger(x, Swapped(x, 2));
  x = Larger(x, Swapped(x, 1));
  return x[0];
}

/// The sum of term(where, lanes) over [0, n). Four sums at once: one would wait for itself.
template <typename Term>
[[gnu::always_inline]] inline float Sum(int64_t n, const Term& term) {
  Floats a = {}, b = {}, d = {}, e = {};
  int64_t c = 0;
  for (; c + 4 * kWidth <= n; c += 4 * kWidth) {
    a += term(c, Whole{});
    b += term(c + kWidth, Whole{});
    d += term(c + 2 * kWidth, Whole{});
    e += term(c + 3 * kWidth, Whole{});
  }
  for (; c + kWidth <= n; c += kWidth) a += term(c, Whole{});
  if (c < n) b += term(c, Part{static_cast<int>(n - c)});
  return SumOfLanes((a + b) + (d + e));
}

/// The largest term(where, lanes) over [0, n), n a multiple of kWidth. May pass over a NaN.
template <typename Term>
[[gnu::always_inline]] inline float Largest(int64_t n, const Term& term) {
  Floats a = Broadcast(-__builtin_inff()), b = a;
  int64_t c = 0;
  for (; c + 2 * kWidth <= n; c += 2 * kWidth) {
    a = Larger(a, term(c, Whole{}));
    b = Larger(b, term(c + kWidth, Whole{}));
  }
  if (c < n) a = Larger(a, term(c, Whole{}));
  return LargestLane(Larger(a, b));
}

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
