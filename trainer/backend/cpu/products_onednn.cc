#include <oneapi/dnnl/dnnl.h>

#include "trainer/backend/cpu/products.h"

namespace gyre::cpu {

bool Multiply(const Kernels&, int64_t m, int64_t n, int64_t k, float alpha, Operand a, Operand b,
              float beta, float* c, int64_t c_stride) {
  return dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', m, n, k, alpha, a.data,
                    a.stride, b.data, b.stride, beta, c, c_stride) == dnnl_success;
}

std::string ProductLibrary() {
  const dnnl_version_t* version = dnnl_version();
  return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

}  // namespace gyre::cpu
