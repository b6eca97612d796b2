#pragma once

// The one place where a library multiplies matrices. Thread-safe; runs on the calling thread alone,
// so that who computes what, and in which order, is decided by us: the same arguments give the same
// bits.

#include <cstdint>
#include <string>

namespace gyre::cpu {

/// Row-major, rows `stride` apart; the transpose of what lies in memory if `transposed`.
struct Matrix {
  const float* data = nullptr;
  int64_t stride = 0;
  bool transposed = false;
};

struct MatrixProduct {
  int64_t m = 0, n = 0, k = 0;
  Matrix a, b;         // (m, k), (k, n)
  float* c = nullptr;  // (m, n)
  int64_t c_stride = 0;
  float factor = 1;
  bool add = false;
};

/// c = factor a b, or c += factor a b. False if the library could not, which only a lack of memory
/// explains.
[[nodiscard]] bool Multiply(const MatrixProduct& product);

/// The library, its version and the instruction set it runs on, e.g. "oneDNN 2.6.3
/// avx512_core_vnni".
std::string MatrixProductLibrary();

}  // namespace gyre::cpu
