#include <cstdio>

#include "trainer/arguments.h"
#include "trainer/backend/load_cuda.h"
#include "trainer/collective/load_nccl.h"
#include "trainer/commands.h"
#include "trainer/config/job_config.h"

namespace gyre {
namespace {

struct Gpu {
  CudaDevice device;
  int64_t free_bytes = 0;  // 0 = not known
};

/// What there is; without a plug-in only why not.
struct Devices {
  CudaReport report;
  std::vector<Gpu> gpus;
};

Devices FindDevices() {
  Devices found;
  const auto plugin = LoadCudaPlugin();
  if (!plugin.ok()) {
    found.report.absent = plugin.status().message();
    return found;
  }
  found.report = (*plugin)->Report();
  if (const auto nccl = LoadNcclPlugin(); nccl.ok()) {
    found.report.libraries += ", NCCL " + (*nccl)->Version();
  }
  for (const CudaDevice& device : found.report.devices) {
    const auto index = static_cast<int>(found.gpus.size());
    found.gpus.push_back({device, device.unusable.empty() ? (*plugin)->FreeBytes(index) : 0});
  }
  return found;
}

std::string NameOf(size_t index) { return "cuda:" + std::to_string(index); }

std::string Capability(const CudaDevice& device) {
  return std::to_string(device.major) + "." + std::to_string(device.minor);
}

std::string ToJson(const Devices& devices) {
  Json gpus = Json::array();
  for (size_t i = 0; i < devices.gpus.size(); ++i) {
    const CudaDevice& device = devices.gpus[i].device;
    gpus.push_back({{"name", NameOf(i)},
                    {"model", device.name},
                    {"compute_capability", Capability(device)},
                    {"memory_bytes", device.memory_bytes},
                    {"free_bytes", devices.gpus[i].free_bytes},
                    {"unusable", device.unusable}});
  }
  const Json json = {{"gpus", std::move(gpus)},
                     {"absent", devices.report.absent},
                     {"driver", devices.report.driver},
                     {"runtime", devices.report.runtime},
                     {"libraries", devices.report.libraries}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string InGib(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", static_cast<double>(bytes) / (1 << 30));
  return text;
}

std::string ToText(const Devices& devices) {
  const CudaReport& report = devices.report;
  std::string text;
  for (size_t i = 0; i < devices.gpus.size(); ++i) {
    const auto& [device, free] = devices.gpus[i];
    text += NameOf(i) + "  " + device.name + ", compute capability " + Capability(device) + ", " +
            (free > 0 ? InGib(free) + " of " : "") + InGib(device.memory_bytes) + " GiB" +
            (free > 0 ? " free" : "") + "\n";
    if (!device.unusable.empty()) text += NameOf(i) + "  cannot be used: " + device.unusable + "\n";
  }
  if (devices.gpus.empty()) text += "no GPU: " + report.absent + "\n";
  if (report.runtime.empty()) return text;
  return text + "CUDA " + report.runtime + ", " + report.libraries +
         (report.driver.empty() ? "" : "; the driver is for CUDA " + report.driver) + "\n";
}

}  // namespace

int DevicesCommand(const std::vector<std::string>& words, std::ostream& out, std::ostream& err) {
  const auto arguments = Arguments::Parse(words, {"--format"});
  if (!arguments.ok()) return ReportFailure(arguments.status(), err);
  const std::string format = arguments->Flag("--format", "table");
  if (!arguments->words.empty() || (format != "table" && format != "json")) {
    return ReportFailure(InvalidArgument("devices takes --format table or json, and nothing else"),
                         err);
  }
  const Devices devices = FindDevices();
  out << (format == "json" ? ToJson(devices) : ToText(devices));
  return 0;
}

}  // namespace gyre
