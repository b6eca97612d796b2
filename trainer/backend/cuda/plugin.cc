#include "trainer/backend/cuda/plugin.h"

#include <cuda_runtime.h>

#include <cstring>

#include "trainer/backend/cuda/cuda_backend.h"
#include "trainer/backend/cuda/matrix_product.h"

namespace gyre::cuda {
namespace {

std::string Version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// The kernels' machine code begins with capability 8.0.
constexpr int kLeastMajor = 8;

CudaDevice Describe(int index) {
  CudaDevice device;
  cudaDeviceProp properties = {};
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, index)) {
    device.unusable = cudaGetErrorString(error);
    return device;
  }
  device.name = properties.name;
  device.memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
  device.major = properties.major;
  device.minor = properties.minor;
  if (device.major < kLeastMajor) {
    device.unusable = "it has compute capability " + std::to_string(device.major) + "." +
                      std::to_string(device.minor) + ", and Gyre needs 8.0 or later";
  }
  return device;
}

class Plugin : public CudaPlugin {
 public:
  CudaReport Report() override {
    CudaReport report;
    int driver = 0, runtime = 0, count = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (driver != 0) report.driver = Version(driver);
    report.runtime = Version(runtime);
    report.libraries = MatrixProductLibrary();
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (driver == 0) {
      report.absent = "no NVIDIA driver is installed";
    } else if (error != cudaSuccess) {
      report.absent = std::string("the NVIDIA driver finds no GPU: ") + cudaGetErrorString(error);
    } else if (count == 0) {
      report.absent = "the NVIDIA driver finds no GPU";
    } else {
      for (int i = 0; i < count; ++i) report.devices.push_back(Describe(i));
    }
    return report;
  }
  int64_t FreeBytes(int device) override {
    size_t free = 0, total = 0;
    const bool known =
        cudaSetDevice(device) == cudaSuccess && cudaMemGetInfo(&free, &total) == cudaSuccess;
    return known ? static_cast<int64_t>(free) : 0;
  }
  BackendError Create(const CudaOptions& options, std::unique_ptr<Backend>* backend) override {
    const CudaReport report = Report();
    const auto error = [](std::string text) {
      return BackendError{BackendError::Kind::kDevice, std::move(text)};
    };
    if (report.devices.empty()) return error(report.absent);
    const std::string name = "cuda:" + std::to_string(options.device);
    if (options.device < 0 || options.device >= static_cast<int>(report.devices.size())) {
      return error("there is no " + name + ": this machine has " +
                   std::to_string(report.devices.size()) +
                   (report.devices.size() == 1 ? " GPU" : " GPUs"));
    }
    const CudaDevice& device = report.devices[options.device];
    if (!device.unusable.empty()) {
      return error(name + " (" + device.name + ") cannot be used: " + device.unusable);
    }
    return CreateCudaBackend(options, backend);
  }
};

}  // namespace
}  // namespace gyre::cuda

extern "C" __attribute__((visibility("default"))) gyre::CudaPlugin* GyreCudaPlugin(
    const char* abi) {
  static gyre::cuda::Plugin plugin;
  return std::strcmp(abi, GYRE_BACKEND_ABI) == 0 ? &plugin : nullptr;
}
