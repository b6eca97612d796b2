#include "trainer/backend/cpu/products.h"

namespace gyre::cpu {

bool Multiply(const Kernels& kernels, int64_t m, int64_t n, int64_t k, float alpha, Operand a,
              Operand b, float beta, float* c, int64_t c_stride) {
  kernels.product(m, n, k, alpha, a.data, a.transposed ? 1 : a.stride, a.transposed ? a.stride : 1,
                  b.data, b.transposed ? 1 : b.stride, b.transposed ? b.stride : 1, beta, c,
                  c_stride);
  return true;
}

std::string ProductLibrary() { return "none"; }

}  // namespace gyre::cpu
