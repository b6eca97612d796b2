#pragma once

// The one place where a library multiplies matrices. Thread-safe; each call runs on the calling
// thread alone, so that who computes what, and in which order, is decided by us: the same arguments
// give the same bits. Sums are in float32. Row-major. In and Out are float, or Bf16 where
// SupportsBf16(); (float, Bf16) does not exist. What a shape needs is made at its first use by a
// thread and kept.

#include <cstdint>
#include <string>

#include "trainer/backend/cpu/kernels/kernels.h"

namespace gyre::cpu {

/// How a matrix lies in memory: rows `stride` apart, or those of its transpose, or as Pack left it.
enum class Layout { kRows, kTransposed, kPacked };

template <typename In>
struct Matrix {
  const In* data = nullptr;
  int64_t stride = 0;  // kPacked: none
  Layout layout = Layout::kRows;
};

/// c (m, n) = a (m, k) b (k, n), or c += a b. Only b may be packed, and then a and c must be dense:
/// no gaps between rows. Otherwise dense matrices, none transposed, are the fastest.
template <typename In, typename Out>
struct MatrixProduct {
  int64_t m = 0, n = 0, k = 0;
  Matrix<In> a, b;
  Out* c = nullptr;
  int64_t c_stride = 0;
  bool add = false;
};

/// False if the library could not, which only a lack of memory explains.
template <typename In, typename Out>
[[nodiscard]] bool Multiply(const MatrixProduct<In, Out>& product);

/// b (k, n) as `source` has it, rounded to In, in the order that the library likes best for a
/// product with many rows.
template <typename In>
struct PackedMatrix {
  int64_t k = 0, n = 0;
  Matrix<float> source;  // not kPacked
  In* packed = nullptr;  // (PackedSize(k, n)), on a cache line of its own
};

/// An upper bound of the elements; grows with k and n.
int64_t PackedSize(int64_t k, int64_t n);

/// Part `part` of `parts`, which may be packed by several threads at once. False as in Multiply.
template <typename In>
[[nodiscard]] bool Pack(const PackedMatrix<In>& matrix, int part, int parts);

/// Frees what this thread has kept: the shapes of the next model may be others.
void ForgetProducts();

/// Whether this processor has instructions for products of bfloat16.
bool SupportsBf16();

/// Keeps products to what a processor of that name has: "amx", "avx512_bf16", "avx512", "avx2",
/// "baseline". Without effect once anything has been multiplied.
void LimitProducts(const std::string& instruction_set);

/// The library, its version and the instruction set it runs on, e.g. "oneDNN 2.6.3
/// avx512_core_vnni".
std::string MatrixProductLibrary();

}  // namespace gyre::cpu
