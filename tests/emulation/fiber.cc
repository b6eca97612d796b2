#include "tests/emulation/fiber.h"

#include <pthread.h>
#include <sys/mman.h>

#include <new>

#include "tests/emulation/sanitizers.h"

// Saves what a call preserves, and the stack pointer; x86-64.
extern "C" void gyre_emulation_switch(void** from, void* to);
asm(R"(
.text
.type gyre_emulation_switch,@function
gyre_emulation_switch:
  pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15
  movq %rsp,(%rdi); movq %rsi,%rsp
  popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp
  ret
.size gyre_emulation_switch,.-gyre_emulation_switch
)");

namespace gyre::emulation {
namespace {

constexpr size_t kStackBytes = 256 << 10;
constexpr size_t kGuardBytes = 4096;

}  // namespace

void InitThreadContext(Context* context) {
  pthread_attr_t attributes;
  void* stack = nullptr;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &stack, &context->stack_bytes);
  pthread_attr_destroy(&attributes);
  context->stack = stack;
  if (__tsan_get_current_fiber) context->watched = __tsan_get_current_fiber();
}

Fiber::Fiber() {
  void* memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, kGuardBytes, PROT_NONE);
  stack = static_cast<char*>(memory) + kGuardBytes;
  stack_bytes = kStackBytes;
  if (__tsan_create_fiber) watched = __tsan_create_fiber(0);
}

Fiber::~Fiber() {
  if (__tsan_destroy_fiber) __tsan_destroy_fiber(watched);
  Unpoison(stack, stack_bytes);
  munmap(static_cast<char*>(const_cast<void*>(stack)) - kGuardBytes, kGuardBytes + kStackBytes);
}

void Fiber::Begin(void (*entry)()) {
  constexpr int kPreserved = 6;
  fake_stack = nullptr;
  auto** top = reinterpret_cast<void**>(static_cast<char*>(const_cast<void*>(stack)) + kStackBytes);
  *--top = nullptr;  // where `entry` would return to
  *--top = reinterpret_cast<void*>(entry);
  for (int i = 0; i < kPreserved; ++i) *--top = nullptr;
  stack_pointer = top;
}

void Fiber::Entered() {
  if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
}

void SwitchContext(Context* from, Context* to, bool last) {
  constexpr unsigned kNoEdge = 1;
  if (__sanitizer_start_switch_fiber) {
    __sanitizer_start_switch_fiber(last ? nullptr : &from->fake_stack, to->stack, to->stack_bytes);
  }
  if (__tsan_switch_to_fiber) __tsan_switch_to_fiber(to->watched, kNoEdge);
  gyre_emulation_switch(&from->stack_pointer, to->stack_pointer);
  if (__sanitizer_finish_switch_fiber) {
    __sanitizer_finish_switch_fiber(from->fake_stack, nullptr, nullptr);
  }
}

}  // namespace gyre::emulation
