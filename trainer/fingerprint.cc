#include <string>

#include "trainer/trainer.h"

namespace gyre {
namespace {

// The widest vectors that the machine has: what libraries choose their kernels by.
std::string InstructionSet() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) return "avx512";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "avx2";
  return "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "other";
#endif
}

}  // namespace

Json Fingerprint(const std::string& backend, int threads) {
  return {{"backend", backend},
          {"instruction_set", InstructionSet()},
          {"threads", threads},
          {"libraries", {{"compiler", __VERSION__}}},
          {"numerics", kNumericsVersion}};
}

}  // namespace gyre
