#include "trainer/backend/cpu/matrix_product.h"
#include "trainer/backend/cpu/processor.h"

namespace gyre::cpu {

bool Multiply(const MatrixProduct& product) {
  static const Kernels& kernels = *SupportedKernels().front();
  kernels.multiply(product);
  return true;
}

std::string MatrixProductLibrary() { return "no library"; }

}  // namespace gyre::cpu
