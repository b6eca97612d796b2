#pragma once

// A launch as it is executed: one block after another, in the order of the options.

#include <cuda_runtime.h>

#include <functional>

namespace gyre::emulation {

/// Throws Error if a thread failed.
void RunGrid(dim3 grid, dim3 threads, size_t dynamic_shared, const std::function<void()>& body);

}  // namespace gyre::emulation
