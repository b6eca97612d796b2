// Machines without a choice: what the compiler takes for granted.

#include <cstring>

#include "trainer/backend/cpu/kernels.h"

namespace gyre::cpu {

extern const Kernels kKernelsBaseline;

const Kernels& BestKernels() { return kKernelsBaseline; }

const Kernels* FindKernels(const char* instruction_set) {
  return std::strcmp(instruction_set, "baseline") == 0 ? &kKernelsBaseline : nullptr;
}

}  // namespace gyre::cpu
