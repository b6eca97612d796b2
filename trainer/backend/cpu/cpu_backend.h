#pragma once

// The backend for processors: float32, matrix products by oneDNN where the build has it, everything else in vectorised
// loops around them, a block of rows at a time so that it stays in the cache. One OpenMP pool does both. The same shapes
// with the same number of threads, instruction set and library give the same bits.

#include <memory>
#include <string>

#include "trainer/backend/backend.h"

namespace gyre {

/// `instruction_set` is the best of this machine if empty; else "avx512", "avx2" or "baseline", and nullptr comes back
/// if the machine lacks it.
std::unique_ptr<Backend> CreateCpuBackend(int threads, const std::string& instruction_set = "");

/// What the bits depend on beside shapes and threads: our own loops' instruction set, e.g. "avx512".
std::string CpuInstructionSet();
/// The library behind the matrix products and its version, e.g. "oneDNN 2.6.3", or "none".
std::string CpuLibraries();

}  // namespace gyre
