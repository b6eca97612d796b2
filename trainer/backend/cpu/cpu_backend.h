#pragma once

// The fast backend: matrix products by oneDNN, or, of bf16 where the processor has AMX, by kernels
// of our own; everything else in loops that are compiled for AVX-512, AVX2 and plain x86-64 and
// chosen at run time, so that one binary runs on any x86-64. The
// same number of threads, precision and instruction set give the same bits. The environment
// variable GYRE_INSTRUCTIONS (amx, avx512_bf16, avx512, avx2 or baseline) keeps a process to what a
// processor of that name has, so that different machines do the same. Operations are done when they
// return. One thread at a time uses it.

#include <memory>
#include <string>

#include "base/status.h"
#include "trainer/backend/backend.h"

namespace gyre {

struct CpuOptions {
  int threads = 1;  // counts the caller's; with 1 none is ever started
  Precision precision = Precision::kFloat32;
  /// Of our own loops: "amx", "avx512_bf16", "avx512", "avx2", "baseline", or empty:
  /// CpuInstructionSet().
  std::string instruction_set;
};

/// RESOURCE_EXHAUSTED: the system gives no more threads. INVALID_ARGUMENT: this processor has not
/// got that instruction set, or that of GYRE_INSTRUCTIONS. UNIMPLEMENTED: bf16 without
/// CpuSupportsBf16().
Result<std::unique_ptr<Backend>> CreateCpuBackend(const CpuOptions& options);

/// Whether there are instructions for products of bfloat16.
bool CpuSupportsBf16();

/// What the bits of a result depend on, beside threads and precision: the instruction set of our
/// own loops, and the library of the matrix products with its version and instruction set.
std::string CpuInstructionSet();
std::string CpuLibraries();

}  // namespace gyre
