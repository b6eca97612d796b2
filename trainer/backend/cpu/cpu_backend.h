#pragma once

// The fast backend: float32, matrix products by oneDNN, everything else in loops that are compiled
// for AVX-512, AVX2 and plain x86-64 and chosen at run time, so that one binary runs on any x86-64.
// The same number of threads and the same instruction set give the same bits. Operations are done
// when they return. One thread at a time uses it.

#include <memory>
#include <string>

#include "base/status.h"
#include "trainer/backend/backend.h"

namespace gyre {

/// `threads` counts the caller's; with 1 none is ever started. RESOURCE_EXHAUSTED: the system gives
/// no more threads. `instruction_set` is for tests: "avx512", "avx2", "baseline", or empty for the
/// best that there is; INVALID_ARGUMENT if this processor has not got it.
Result<std::unique_ptr<Backend>> CreateCpuBackend(int threads,
                                                  const std::string& instruction_set = "");

/// What the bits of a result depend on, beside the number of threads: the instruction set of our
/// own loops, and the library of the matrix products with its version and instruction set.
std::string CpuInstructionSet();
std::string CpuLibraries();

}  // namespace gyre
