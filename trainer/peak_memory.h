#pragma once

#include <cstdint>

namespace gyre {

/// Starts a new measurement of this process's peak memory, where the kernel lets it.
void ResetPeakMemory();

/// Largest resident memory in bytes since the last reset (or the process's start); 0 if the kernel
/// does not say.
int64_t PeakMemoryBytes();

}  // namespace gyre
