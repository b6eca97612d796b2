#pragma once

// What the emulation tells the sanitizers. Their entry points are weak: null in a program that is
// built without them.

#include <cstddef>

extern "C" {
[[gnu::weak]] void __asan_poison_memory_region(const volatile void*, size_t);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void*, size_t);
[[gnu::weak]] void __sanitizer_start_switch_fiber(void**, const void*, size_t);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void*, const void**, size_t*);
[[gnu::weak]] void* __tsan_create_fiber(unsigned);
[[gnu::weak]] void __tsan_destroy_fiber(void*);
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void __tsan_switch_to_fiber(void*, unsigned);
[[gnu::weak]] void __tsan_acquire(void*);
[[gnu::weak]] void __tsan_release(void*);
}

namespace gyre::emulation {

/// An address that stands for an edge of "happens before": what was done before Release is seen
/// after Acquire.
struct Edge {
  char address = 0;

  void Release() {
    if (__tsan_release) __tsan_release(&address);
  }
  void Acquire() {
    if (__tsan_acquire) __tsan_acquire(&address);
  }
};

inline bool RacesAreWatched() { return __tsan_create_fiber != nullptr; }

/// Whoever touches these bytes is reported.
inline void Poison(const void* data, size_t bytes) {
  if (__asan_poison_memory_region) __asan_poison_memory_region(data, bytes);
}
inline void Unpoison(const void* data, size_t bytes) {
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(data, bytes);
}

/// 0xff, which is NaN as float and as bfloat16. No memset: that would count as an access.
inline void FillWithNaN(void* data, size_t bytes) {
  asm volatile("rep stosb" : "+D"(data), "+c"(bytes) : "a"(0xff) : "memory");
}

}  // namespace gyre::emulation
