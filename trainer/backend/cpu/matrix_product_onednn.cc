#include <dnnl.h>
#include <omp.h>

#include "trainer/backend/cpu/matrix_product.h"

namespace gyre::cpu {
namespace {

// oneDNN's threads are OpenMP's; it may have one for each of ours, and then starts none.
void UseOneThread() {
  static thread_local const bool once = (omp_set_num_threads(1), true);
  static_cast<void>(once);
}

const char* InstructionSetName(dnnl_cpu_isa_t isa) {
  switch (isa) {
    case dnnl_cpu_isa_sse41:
      return "sse41";
    case dnnl_cpu_isa_avx:
      return "avx";
    case dnnl_cpu_isa_avx2:
      return "avx2";
    case dnnl_cpu_isa_avx2_vnni:
      return "avx2_vnni";
    case dnnl_cpu_isa_avx512_core:
      return "avx512_core";
    case dnnl_cpu_isa_avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl_cpu_isa_avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl_cpu_isa_avx512_core_amx:
      return "avx512_core_amx";
    default:
      return "(an instruction set without a name here)";
  }
}

}  // namespace

bool Multiply(const MatrixProduct& p) {
  UseOneThread();
  return dnnl_sgemm(p.a.transposed ? 'T' : 'N', p.b.transposed ? 'T' : 'N', p.m, p.n, p.k, p.factor,
                    p.a.data, p.a.stride, p.b.data, p.b.stride, p.add ? 1.0f : 0.0f, p.c,
                    p.c_stride) == dnnl_success;
}

std::string MatrixProductLibrary() {
  const dnnl_version_t* version = dnnl_version();
  return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch) + " " + InstructionSetName(dnnl_get_effective_cpu_isa());
}

}  // namespace gyre::cpu
