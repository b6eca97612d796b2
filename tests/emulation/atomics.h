#pragma once

// CUDA's atomics as real ones, so that ThreadSanitizer sees them meet plain accesses, and nothing
// else.

#include <bit>
#include <cstdint>
#include <type_traits>

template <typename T>
requires std::is_integral_v<T>
inline T atomicAdd(T* target, std::type_identity_t<T> value) {
  return __atomic_fetch_add(target, value, __ATOMIC_RELAXED);
}

inline float atomicAdd(float* target, float value) {
  auto* bits = reinterpret_cast<uint32_t*>(target);
  uint32_t old = __atomic_load_n(bits, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(bits, &old,
                                      std::bit_cast<uint32_t>(std::bit_cast<float>(old) + value),
                                      true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return std::bit_cast<float>(old);
}
