#pragma once

// CUDA's arithmetic functions. They are exact where a GPU's are approximate: tolerances of tests
// must not depend on it.

#include <cuda_runtime.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "tests/emulation/error.h"

template <typename T>
inline T __ldg(const T* source) {
  return *source;
}
template <typename T>
inline T __ldcs(const T* source) {
  return *source;
}
template <typename T>
inline void __stcs(T* target, T value) {
  *target = value;
}

inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline float __frsqrt_rn(float x) { return 1.0f / std::sqrt(x); }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }

inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }

inline int __popc(unsigned x) { return std::popcount(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }

inline int min(int x, int y) { return x < y ? x : y; }
inline int max(int x, int y) { return x > y ? x : y; }
inline int64_t min(int64_t x, int64_t y) { return x < y ? x : y; }
inline int64_t max(int64_t x, int64_t y) { return x > y ? x : y; }

[[noreturn]] inline void __trap(
    gyre::emulation::Location location = gyre::emulation::Location::Here()) {
  gyre::emulation::Fail("__trap at " + ToString(location));
}
