#include "worker/devices.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/log.h"
#include "base/machine.h"

namespace gyre {
namespace {

constexpr char kAuto[] = "auto", kCpu[] = "cpu", kAllGpus[] = "cuda";

DeviceInfo Device(const GpuInfo& gpu) { return {gpu.name, "cuda", gpu.model, gpu.memory_bytes}; }

std::vector<std::string> Names(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream stream(list);
  for (std::string name; std::getline(stream, name, ',');) {
    name.erase(0, name.find_first_not_of(' '));
    name.erase(name.find_last_not_of(' ') + 1);
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

bool IsGpuName(const std::string& name) {
  return name.starts_with("cuda:") && name.size() > 5 && name.size() <= 8 &&
         name.find_first_not_of("0123456789", 5) == std::string::npos;
}

// What a driver shows of itself: on Linux, and where Linux is a guest of Windows. A plug-in that
// somebody has named may need none.
bool MayHaveDriver(const std::filesystem::path& root) {
  std::error_code error;
  return std::getenv("GYRE_CUDA_PLUGIN") != nullptr ||
         std::filesystem::exists(root / "proc/driver/nvidia", error) ||
         std::filesystem::exists(root / "dev/nvidiactl", error) ||
         std::filesystem::exists(root / "dev/dxg", error);
}

Status NoSuchGpu(const std::string& name, const GpuReport& report) {
  if (report.gpus.empty()) return InvalidArgument("there is no " + name + ": " + report.absent);
  std::string known;
  for (const GpuInfo& gpu : report.gpus) {
    if (gpu.name == name) return InvalidArgument(name + " cannot be used: " + gpu.unusable);
    known += (known.empty() ? "" : ", ") + gpu.name;
  }
  if (name != kAllGpus)
    return InvalidArgument("there is no " + name + "; this machine has " + known);
  return InvalidArgument("no GPU of this machine can be used: " + report.gpus.front().name + ": " +
                         report.gpus.front().unusable);
}

}  // namespace

bool IsGpu(const DeviceInfo& device) { return device.kind == "cuda"; }

Machine ReadMachine(const std::filesystem::path& root) {
  Machine machine;
  machine.cores = UsableCores(root);
  machine.memory_bytes = MemoryBytes(root);
  machine.cpu = {kCpu, "cpu", ProcessorModel(root), machine.memory_bytes};
  return machine;
}

GpuReport AskIfWanted(const std::string& wanted, const std::filesystem::path& trainer,
                      const std::filesystem::path& root) {
  const std::vector<std::string> names = Names(wanted);
  const auto is_cpu = [](const std::string& name) { return name == kCpu; };
  if (std::all_of(names.begin(), names.end(), is_cpu)) return {};
  if (wanted == kAuto && !MayHaveDriver(root)) return {.absent = "no NVIDIA driver is installed"};
  GpuReport report = AskForGpus(trainer, kGpuReportLimit);
  if (!report.answered) LogWarning(report.absent);
  return report;
}

Result<std::vector<DeviceInfo>> ChooseDevices(const std::string& wanted, const DeviceInfo& cpu,
                                              const GpuReport& report) {
  std::vector<DeviceInfo> usable, chosen;
  for (const GpuInfo& gpu : report.gpus) {
    if (gpu.unusable.empty()) usable.push_back(Device(gpu));
  }
  const auto choose = [&](const DeviceInfo& device) {
    const auto same = [&](const DeviceInfo& other) { return other.name == device.name; };
    if (std::none_of(chosen.begin(), chosen.end(), same)) chosen.push_back(device);
  };
  const std::vector<std::string> names = Names(wanted);
  for (const std::string& name : names) {
    if (name == kAuto && names.size() == 1) {
      return usable.empty() ? std::vector<DeviceInfo>{cpu} : usable;
    }
    if (name == kCpu) {
      choose(cpu);
    } else if (name == kAllGpus) {
      if (usable.empty()) return NoSuchGpu(name, report);
      std::for_each(usable.begin(), usable.end(), choose);
    } else if (IsGpuName(name)) {
      const auto gpu = std::find_if(usable.begin(), usable.end(),
                                    [&](const DeviceInfo& device) { return device.name == name; });
      if (gpu == usable.end()) return NoSuchGpu(name, report);
      choose(*gpu);
    } else {
      chosen.clear();
      break;
    }
  }
  if (!chosen.empty()) return chosen;
  return InvalidArgument("'" + wanted +
                         "' is no list of devices; write auto, or some of cpu, cuda (all GPUs), "
                         "cuda:0, cuda:1, ... with commas");
}

std::string RemoveLost(const GpuReport& report, std::vector<DeviceInfo>* devices) {
  std::string lost, why = report.absent;
  const auto is_lost = [&](const DeviceInfo& device) {
    if (!IsGpu(device)) return false;
    for (const GpuInfo& gpu : report.gpus) {
      if (gpu.name == device.name && gpu.unusable.empty()) return false;
      if (gpu.name == device.name) why = gpu.unusable;
    }
    lost += (lost.empty() ? "" : ", ") + device.name;
    return true;
  };
  devices->erase(std::remove_if(devices->begin(), devices->end(), is_lost), devices->end());
  if (lost.empty()) return "";
  return lost + (lost.find(',') == std::string::npos ? " is" : " are") + " gone" +
         (why.empty() ? "" : ": " + why);
}

std::string DescribeChoice(const std::vector<DeviceInfo>& devices, const GpuReport& report) {
  std::string text;
  for (const DeviceInfo& device : devices) {
    text += (text.empty() ? "" : ", ") + device.name + " (" + device.model + ")";
  }
  if (std::any_of(devices.begin(), devices.end(), IsGpu)) return text;
  if (report.absent.empty() && report.gpus.empty()) return text;  // nobody asked for a GPU
  std::string why = report.absent;
  if (why.empty())
    why = report.gpus.front().name + " cannot be used: " + report.gpus.front().unusable;
  return (report.answered ? "no GPU: " : "") + why + "; jobs train on the CPU";
}

}  // namespace gyre
