#include <immintrin.h>

#include "trainer/backend/cpu/processor.h"

namespace gyre::cpu {

namespace baseline {
Kernels Table();
}
namespace avx2 {
Kernels Table();
}
namespace avx512 {
Kernels Table();
}
namespace avx512_bf16 {
Kernels Table();
}

std::vector<const Kernels*> SupportedKernels() {
  std::vector<const Kernels*> supported;
  if (__builtin_cpu_supports("x86-64-v4") && __builtin_cpu_supports("avx512bf16")) {
    static const Kernels kernels = avx512_bf16::Table();
    supported.push_back(&kernels);
  }
  if (__builtin_cpu_supports("x86-64-v4")) {
    static const Kernels kernels = avx512::Table();
    supported.push_back(&kernels);
  }
  if (__builtin_cpu_supports("x86-64-v3")) {
    static const Kernels kernels = avx2::Table();
    supported.push_back(&kernels);
  }
  static const Kernels kernels = baseline::Table();
  supported.push_back(&kernels);
  return supported;
}

void Pause() { _mm_pause(); }

FlushDenormals::FlushDenormals() : before_(_mm_getcsr()) {
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  _mm_setcsr(before_ | kFlushToZero | kDenormalsAreZero);
}

FlushDenormals::~FlushDenormals() { _mm_setcsr(before_); }

}  // namespace gyre::cpu
