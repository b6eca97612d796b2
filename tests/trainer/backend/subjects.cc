#include "tests/trainer/backend/subjects.h"

#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/backend/reference/reference_backend.h"

namespace gyre {
namespace {

Subject CpuSubject(const CpuOptions& options) {
  const bool bf16 = options.precision == Precision::kBf16;
  const std::string name = "cpu_" + options.instruction_set + (bf16 ? "_in_bf16_" : "_") +
                           std::to_string(options.threads);
  return {name, options.precision, [options, bf16]() -> std::unique_ptr<Backend> {
            if (bf16 && !CpuSupportsBf16()) return nullptr;
            auto created = CreateCpuBackend(options);
            return created.ok() ? *std::move(created) : nullptr;
          }};
}

}  // namespace

std::vector<Subject> Subjects() {
  std::vector<Subject> subjects = {
      {"reference", Precision::kFloat32, [] { return CreateReferenceBackend(); }}};
  for (const char* set : {"amx", "avx512_bf16", "avx512", "avx2", "baseline"}) {
    for (const Precision precision : {Precision::kFloat32, Precision::kBf16}) {
      for (const int threads : {1, 2, 3}) {
        subjects.push_back(
            CpuSubject({.threads = threads, .precision = precision, .instruction_set = set}));
      }
    }
  }
  return subjects;
}

}  // namespace gyre
