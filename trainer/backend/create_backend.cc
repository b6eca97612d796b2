#include "trainer/backend/create_backend.h"

#include <charconv>

#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/backend/load_cuda.h"
#include "trainer/backend/reference/reference_backend.h"

namespace gyre {
namespace {

Result<std::unique_ptr<Backend>> CreateCuda(const CudaOptions& options) {
  GYRE_ASSIGN_OR_RETURN(CudaPlugin * plugin, LoadCudaPlugin());
  std::unique_ptr<Backend> backend;
  const BackendError error = plugin->Create(options, &backend);
  if (error.ok()) return backend;
  return error.kind == BackendError::Kind::kOutOfMemory ? ResourceExhausted(error.message)
                                                        : Unavailable(error.message);
}

}  // namespace

Result<std::unique_ptr<Backend>> CreateBackend(const std::string& name, int threads,
                                               Precision precision) {
  if (threads < 1) return InvalidArgument("a backend needs at least one thread");
  if (name == "cpu") return CreateCpuBackend({.threads = threads, .precision = precision});
  if (name == "reference") return CreateReferenceBackend();
  const int device = CudaDeviceOf(name);
  if (device >= 0) return CreateCuda({.device = device, .precision = precision});
  return InvalidArgument("no backend is called '" + name +
                         "'; there are cpu, cuda (or cuda:0, cuda:1, ...) and reference");
}

int CudaDeviceOf(const std::string& backend) {
  if (backend == "cuda") return 0;
  int device = -1;
  const char* end = backend.data() + backend.size();
  if (!backend.starts_with("cuda:") || backend.size() > 8) return -1;
  const auto [rest, error] = std::from_chars(backend.data() + 5, end, device);
  return error == std::errc() && rest == end ? device : -1;
}

Result<int64_t> FreeDeviceMemory(int cuda_device) {
  GYRE_ASSIGN_OR_RETURN(CudaPlugin * plugin, LoadCudaPlugin());
  const CudaReport report = plugin->Report();
  if (cuda_device >= static_cast<int>(report.devices.size())) {
    return Unavailable(report.absent.empty() ? "there is no cuda:" + std::to_string(cuda_device)
                                             : report.absent);
  }
  return plugin->FreeBytes(cuda_device);
}

Precision UsablePrecision(const std::string& backend, Precision wanted) {
  if (CudaDeviceOf(backend) >= 0)
    return wanted;  // every device that the kernels are built for has all
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
