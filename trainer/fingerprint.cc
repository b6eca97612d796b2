#include <string>

#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/backend/create_backend.h"
#include "trainer/backend/load_cuda.h"
#include "trainer/trainer.h"

namespace gyre {
namespace {

struct Arithmetic {
  std::string instruction_set = "plain", libraries = "none";
};

// A device that is not there computes nothing, and has no name.
Arithmetic OfGpu(int index) {
  const auto plugin = LoadCudaPlugin();
  if (!plugin.ok()) return {};
  const CudaReport report = (*plugin)->Report();
  if (index >= static_cast<int>(report.devices.size())) return {};
  const CudaDevice& device = report.devices[index];
  return {device.name + " " + std::to_string(device.major) + "." + std::to_string(device.minor),
          report.libraries};
}

Arithmetic Of(const std::string& backend) {
  if (backend == "cpu") return {CpuInstructionSet(), CpuLibraries()};
  const int device = CudaDeviceOf(backend);
  return device < 0 ? Arithmetic{} : OfGpu(device);
}

}  // namespace

Json Fingerprint(const std::string& backend, int threads, int ranks) {
  const Arithmetic arithmetic = Of(backend);
  Json fingerprint = {{"backend", CudaDeviceOf(backend) < 0 ? backend : "cuda"},
                      {"instruction_set", arithmetic.instruction_set},
                      {"threads", threads},
                      {"libraries", arithmetic.libraries},
                      {"numerics", kNumericsVersion}};
  if (ranks > 1) fingerprint["ranks"] = ranks;
  return fingerprint;
}

}  // namespace gyre
