#include <cstring>

#include "trainer/backend/cpu/kernels.h"

namespace gyre::cpu {

extern const Kernels kKernelsAvx512, kKernelsAvx2, kKernelsBaseline;

namespace {

// The levels of the x86-64 psABI that the two files are compiled for.
bool HasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

bool HasAvx512() {
  return HasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

}  // namespace

const Kernels& BestKernels() {
  if (HasAvx512()) return kKernelsAvx512;
  return HasAvx2() ? kKernelsAvx2 : kKernelsBaseline;
}

const Kernels* FindKernels(const char* instruction_set) {
  if (std::strcmp(instruction_set, "avx512") == 0 && HasAvx512()) return &kKernelsAvx512;
  if (std::strcmp(instruction_set, "avx2") == 0 && HasAvx2()) return &kKernelsAvx2;
  return std::strcmp(instruction_set, "baseline") == 0 ? &kKernelsBaseline : nullptr;
}

}  // namespace gyre::cpu
