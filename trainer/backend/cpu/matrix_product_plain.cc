#include "trainer/backend/cpu/matrix_product.h"
#include "trainer/backend/cpu/processor.h"
#include "trainer/backend/cpu/thread_pool.h"

namespace gyre::cpu {
namespace {

std::string& Limit() {
  static std::string limit;
  return limit;
}

// The table of the instruction set that products are kept to, else the fastest.
const Kernels& Allowed() {
  const auto supported = SupportedKernels();
  for (const Kernels* kernels : supported) {
    if (Limit() == kernels->instruction_set) return *kernels;
  }
  return *supported.front();
}

}  // namespace

// A packed matrix lies row by row. Without a library nothing is gained by Bf16.
template <>
bool Multiply(const MatrixProduct<float, float>& product) {
  static const Kernels& kernels = Allowed();
  MatrixProduct<float, float> plain = product;
  if (plain.b.layout == Layout::kPacked) plain.b = {product.b.data, product.n, Layout::kRows};
  kernels.multiply(plain);
  return true;
}
template <>
bool Multiply(const MatrixProduct<Bf16, float>&) {
  return false;
}
template <>
bool Multiply(const MatrixProduct<Bf16, Bf16>&) {
  return false;
}

int64_t PackedSize(int64_t k, int64_t n) { return k * n; }

template <>
bool Pack(const PackedMatrix<float>& b, int part, int parts) {
  const Range rows = Split({0, b.k}, parts, part);
  const bool transposed = b.source.layout == Layout::kTransposed;
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    for (int64_t j = 0; j < b.n; ++j) {
      b.packed[i * b.n + j] =
          b.source.data[transposed ? j * b.source.stride + i : i * b.source.stride + j];
    }
  }
  return true;
}
template <>
bool Pack(const PackedMatrix<Bf16>&, int, int) {
  return false;
}

void ForgetProducts() {}

bool SupportsBf16() { return false; }

void LimitProducts(const std::string& instruction_set) { Limit() = instruction_set; }

std::string MatrixProductLibrary() { return "no library"; }

}  // namespace gyre::cpu
