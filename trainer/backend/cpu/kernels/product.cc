// Matrix products for builds without oneDNN.

#include "trainer/backend/cpu/kernels/kernels.h"
#include "trainer/backend/cpu/matrix_product.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {
namespace {

void Multiply(const MatrixProduct<float, float>& p) {
  const int64_t a_row = p.a.layout == Layout::kTransposed ? 1 : p.a.stride,
                a_column = p.a.layout == Layout::kTransposed ? p.a.stride : 1;
  for (int64_t i = 0; i < p.m; ++i) {
    float* c = p.c + i * p.c_stride;
    const float* a = p.a.data + i * a_row;
    for (int64_t j = 0; j < p.n && !p.add; ++j) c[j] = 0;
    if (p.b.layout == Layout::kRows) {  // rows of b are contiguous: add them up
      for (int64_t l = 0; l < p.k; ++l) {
        const float* b = p.b.data + l * p.b.stride;
        const float factor = a[l * a_column];
#pragma omp simd
        for (int64_t j = 0; j < p.n; ++j) c[j] += factor * b[j];
      }
      continue;
    }
    for (int64_t j = 0; j < p.n; ++j) {
      const float* b = p.b.data + j * p.b.stride;
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t l = 0; l < p.k; ++l) sum += a[l * a_column] * b[l];
      c[j] += sum;
    }
  }
}

}  // namespace

void AddProduct(Kernels* kernels) { kernels->multiply = Multiply; }

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
