#include "trainer/backend/create_backend.h"

#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/backend/reference/reference_backend.h"

namespace gyre {

Result<std::unique_ptr<Backend>> CreateBackend(const std::string& name, int threads,
                                               Precision precision) {
  if (threads < 1) return InvalidArgument("a backend needs at least one thread");
  if (name == "cpu") return CreateCpuBackend({.threads = threads, .precision = precision});
  if (name == "reference") return CreateReferenceBackend();
  return InvalidArgument("no backend is called '" + name + "'; there are cpu and reference");
}

Precision UsablePrecision(const std::string& backend, Precision wanted) {
  const bool has = backend == "cpu" && wanted == Precision::kBf16 && CpuSupportsBf16();
  return has ? wanted : Precision::kFloat32;
}

Result<Precision> PrecisionFromName(const std::string& name) {
  for (const Precision precision : {Precision::kFloat32, Precision::kTf32, Precision::kBf16}) {
    if (name == PrecisionName(precision)) return precision;
  }
  return InvalidArgument("no precision is called '" + name + "'; there are float32, tf32 and bf16");
}

std::string PrecisionName(Precision precision) {
  switch (precision) {
    case Precision::kBf16:
      return "bf16";
    case Precision::kTf32:
      return "tf32";
    default:
      return "float32";
  }
}

}  // namespace gyre
