#include <immintrin.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

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
namespace amx {
Kernels Table();
}
namespace {

// Linux lets a process use tiles once it has asked: they make its threads' state larger.
bool MayUseTiles() {
#ifdef __linux__
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace

std::vector<const Kernels*> SupportedKernels() {
  std::vector<const Kernels*> supported;
  if (__builtin_cpu_supports("x86-64-v4") && __builtin_cpu_supports("avx512bf16") &&
      __builtin_cpu_supports("amx-bf16") && MayUseTiles()) {
    static const Kernels kernels = amx::Table();
    supported.push_back(&kernels);
  }
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
