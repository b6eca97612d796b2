#pragma once

// Finds libgyre_cuda.so, which is loaded when somebody first asks for it: programs that never use a
// GPU never see CUDA's libraries.

#include "base/status.h"
#include "trainer/backend/cuda/plugin.h"

namespace gyre {

/// The plug-in, loaded once. It lies beside the program, or where GYRE_CUDA_PLUGIN says. Absent:
/// UNAVAILABLE, and why: no such file, no such library of CUDA's, built from other headers.
Result<CudaPlugin*> LoadCudaPlugin();

}  // namespace gyre
