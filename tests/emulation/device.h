#pragma once

// The emulated devices, which a thread of the operating system chooses from by cudaSetDevice.

#include <cuda_runtime.h>

#include <cstddef>

namespace gyre::emulation {

constexpr size_t kSharedBytesWithoutAsking = 48 << 10;
constexpr size_t kMostSharedBytes = 227 << 10;  // as on a device of compute capability 9.0

int CurrentDevice();

/// Keeps an error for cudaGetLastError, as every call of CUDA does, and gives it back.
cudaError_t Remember(cudaError_t error);

}  // namespace gyre::emulation
