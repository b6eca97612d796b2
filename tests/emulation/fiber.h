#pragma once

// Contexts of execution that switch by hand: the threads of an emulated block, all within one
// thread of the operating system.

#include <cstddef>

namespace gyre::emulation {

struct Context {
  void* stack_pointer = nullptr;
  const void* stack = nullptr;  // its lowest address
  size_t stack_bytes = 0;
  void* fake_stack = nullptr;  // AddressSanitizer's
  void* watched = nullptr;     // ThreadSanitizer's fiber
};

/// The context of the running thread of the operating system.
void InitThreadContext(Context* context);

class Fiber : public Context {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// The next switch here calls `entry`, which calls Entered first and never returns.
  void Begin(void (*entry)());
  void Entered();
};

/// Goes on in `to`, without an edge of "happens before". Returns when somebody switches back, or
/// never if this is the `last` one from here.
void SwitchContext(Context* from, Context* to, bool last = false);

}  // namespace gyre::emulation
