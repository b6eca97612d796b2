#pragma once

// What differs from processor to processor, beside the kernels: processor_x86.cc, or
// processor_other.cc.

#include <vector>

#include "trainer/backend/cpu/kernels/kernels.h"

namespace gyre::cpu {

/// The tables of kernels that this processor can run, the fastest first; the last is "baseline".
std::vector<const Kernels*> SupportedKernels();

/// Tells the processor that this thread spins.
void Pause();

/// While it lives, denormal numbers count as zero on this thread: in moments that decay they are
/// common, and each would cost a hundred times as much as another number.
class FlushDenormals {
 public:
  FlushDenormals();
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned before_;
};

}  // namespace gyre::cpu
