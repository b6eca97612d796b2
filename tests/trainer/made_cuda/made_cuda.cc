// A plug-in for tests: GPUs that GYRE_MADE_CUDA describes, on which the reference backend trains.
//   "2"           two of them, of 8 GiB each
//   "old"         one that cannot be used
//   "no driver"   none, as where CUDA's libraries are and its driver isn't
//   "hang"        asking never ends
// GYRE_MADE_CUDA_FREE is how many bytes each has free, GYRE_MADE_CUDA_BROKEN the number of one that
// no backend can be made for.

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "trainer/backend/cuda/plugin.h"
#include "trainer/backend/reference/reference_backend.h"

namespace gyre {
namespace {

constexpr int64_t kMemory = int64_t{8} << 30;

std::string Environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

class MadePlugin : public CudaPlugin {
 public:
  CudaReport Report() override {
    const std::string made = Environment("GYRE_MADE_CUDA", "1");
    if (made == "hang") {
      while (true) pause();
    }
    CudaReport report{.runtime = "13.0", .libraries = "reference 1"};
    if (made == "no driver") {
      report.absent = "no NVIDIA driver is installed";
      return report;
    }
    report.driver = "13.1";
    if (made == "old") {
      report.devices = {{"Old GPU", kMemory, 7, 0, "it has compute capability 7.0"}};
      return report;
    }
    for (int i = 0; i < std::atoi(made.c_str()); ++i) {
      report.devices.push_back({"Made GPU", kMemory, 9, 0, ""});
    }
    if (report.devices.empty()) report.absent = "the NVIDIA driver finds no GPU";
    return report;
  }
  int64_t FreeBytes(int) override {
    return std::atoll(Environment("GYRE_MADE_CUDA_FREE", "8000000000").c_str());
  }
  BackendError Create(const CudaOptions& options, std::unique_ptr<Backend>* backend) override {
    const std::string index = std::to_string(options.device);
    if (options.device >= static_cast<int>(Report().devices.size())) {
      return {BackendError::Kind::kDevice, "there is no cuda:" + index};
    }
    if (index == Environment("GYRE_MADE_CUDA_BROKEN", "")) {
      return {BackendError::Kind::kDevice, "cuda:" + index + " has fallen off the bus"};
    }
    *backend = CreateReferenceBackend();
    return {};
  }
};

}  // namespace
}  // namespace gyre

extern "C" gyre::CudaPlugin* GyreCudaPlugin(const char* abi) {
  static gyre::MadePlugin plugin;
  return std::strcmp(abi, GYRE_BACKEND_ABI) == 0 ? &plugin : nullptr;
}
