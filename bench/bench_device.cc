#include "bench/bench_device.h"

#include "trainer/backend/create_backend.h"
#include "trainer/backend/load_cuda.h"

namespace gyre {
namespace {

struct Peak {
  const char* part;  // of the device's name
  double bf16;       // TFLOP/s without sparsity; tf32 is half of it
};

// NVIDIA's data sheets; the first that matches.
constexpr Peak kPeaks[] = {{"H100 PCIe", 756}, {"H100 NVL", 835}, {"H100", 989}, {"GH200", 989},
                           {"H200 NVL", 835},  {"H200", 989},     {"A100", 312}, {"B200", 2250}};

}  // namespace

Result<BenchDevice> LookAtDevice(const std::string& backend) {
  GYRE_ASSIGN_OR_RETURN(CudaPlugin * plugin, LoadCudaPlugin());
  const CudaReport report = plugin->Report();
  const int index = CudaDeviceOf(backend);
  if (index < 0 || index >= static_cast<int>(report.devices.size())) {
    return Unavailable("there is no " + backend + " here: " + report.absent);
  }
  const CudaDevice& device = report.devices[static_cast<size_t>(index)];
  GYRE_ASSIGN_OR_RETURN(const int64_t free, FreeDeviceMemory(index));
  return BenchDevice{device.name, "CUDA " + report.runtime + ", " + report.libraries, free};
}

double PeakOfDevice(const std::string& name, const std::string& precision) {
  const double part = precision == "bf16" ? 1 : precision == "tf32" ? 0.5 : 0;
  for (const Peak& peak : kPeaks) {
    if (name.find(peak.part) != std::string::npos) return 1e12 * peak.bf16 * part;
  }
  return 0;
}

}  // namespace gyre
