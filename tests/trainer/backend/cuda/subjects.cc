#include "tests/trainer/backend/subjects.h"

#include "trainer/backend/load_cuda.h"

namespace gyre {
namespace {

Subject CudaSubject(const std::string& name, Precision precision) {
  return {name, precision, [precision]() -> std::unique_ptr<Backend> {
            const Result<CudaPlugin*> plugin = LoadCudaPlugin();
            std::unique_ptr<Backend> backend;
            if (!plugin.ok() || !(*plugin)->Create({.precision = precision}, &backend).ok()) {
              return nullptr;
            }
            return backend;
          }};
}

}  // namespace

std::vector<Subject> Subjects() {
  return {CudaSubject("cuda", Precision::kFloat32), CudaSubject("cuda_in_tf32", Precision::kTf32),
          CudaSubject("cuda_in_bf16", Precision::kBf16)};
}

}  // namespace gyre
