#include "trainer/backend/cpu/processor.h"

namespace gyre::cpu {

namespace baseline {
Kernels Table();
}

std::vector<const Kernels*> SupportedKernels() {
  static const Kernels kernels = baseline::Table();
  return {&kernels};
}

void Pause() {}

FlushDenormals::FlushDenormals() : before_(0) {}
FlushDenormals::~FlushDenormals() { static_cast<void>(before_); }

}  // namespace gyre::cpu
