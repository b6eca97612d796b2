#pragma once

// Matrix products, behind one file: products_onednn.cc, or products_plain.cc where oneDNN is absent.

#include <cstdint>
#include <string>

#include "trainer/backend/cpu/kernels.h"

namespace gyre::cpu {

/// A row-major matrix of which a product sees the transpose, or not.
struct Operand {
  const float* data;
  int64_t stride;  // elements from row to row, as stored
  bool transposed = false;
};

/// c (m, n; c_stride) = alpha a b + beta c, where a is (m, k) and b is (k, n) as seen. Uses as many threads as OpenMP
/// gives the caller: one within a parallel region. The same call with the same number of threads gives the same bits.
/// False if the library refused; c is then undefined.
bool Multiply(const Kernels& kernels, int64_t m, int64_t n, int64_t k, float alpha, Operand a,
              Operand b, float beta, float* c, int64_t c_stride);

/// "oneDNN 2.6.3", or "none".
std::string ProductLibrary();

}  // namespace gyre::cpu
