#pragma once

// The backends of this build, by name, and the precisions, by theirs.

#include <memory>
#include <string>

#include "base/status.h"
#include "trainer/backend/backend.h"

namespace gyre {

/// "cpu" (the fast one), "cuda" or "cuda:N" (the N-th GPU; load_cuda.h), or "reference" (one
/// thread, slow, the specification). INVALID_ARGUMENT lists the names; UNAVAILABLE: there is no
/// such device here, and why. `precision` is one that UsablePrecision gives.
Result<std::unique_ptr<Backend>> CreateBackend(const std::string& name, int threads,
                                               Precision precision = Precision::kFloat32);

/// The GPU that a backend's name means, or -1.
int CudaDeviceOf(const std::string& backend);

/// Bytes that nobody uses on a GPU; 0 = not known. UNAVAILABLE: there is no such device here, and
/// why.
Result<int64_t> FreeDeviceMemory(int cuda_device);

/// What a backend computes in where `wanted` is asked for: float32 where this processor has
/// no instructions for bf16, where tf32 is wanted of a processor, and on the reference, which
/// rounds nothing.
Precision UsablePrecision(const std::string& backend, Precision wanted);

/// "float32", "tf32" or "bf16". INVALID_ARGUMENT lists them.
Result<Precision> PrecisionFromName(const std::string& name);
std::string PrecisionName(Precision precision);

}  // namespace gyre
