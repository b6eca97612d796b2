#pragma once

// The Backend on one CUDA device: what the plug-in makes.

#include <memory>

#include "trainer/backend/backend.h"
#include "trainer/backend/cuda/plugin.h"

namespace gyre::cuda {

/// kDevice: no such device, or it does not answer.
BackendError CreateCudaBackend(const CudaOptions& options, std::unique_ptr<Backend>* backend);

}  // namespace gyre::cuda
