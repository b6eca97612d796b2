#include "coordinator/devices.h"

#include <algorithm>

namespace gyre {

bool IsGpu(const std::string& devices) { return devices.starts_with("cuda"); }

bool HasDevice(const std::string& devices, const std::string& device) {
  return ("," + devices + ",").find("," + device + ",") != std::string::npos;
}

std::string DevicesFor(int gpus, const std::string& device,
                       const std::vector<std::string>& free_gpus) {
  if (gpus == 0) return device;
  std::string devices;
  for (int i = 0; i < std::min<int>(gpus, static_cast<int>(free_gpus.size())); ++i) {
    devices += (i > 0 ? "," : "") + free_gpus[static_cast<size_t>(i)];
  }
  return devices;
}

int64_t MemoryOf(const WorkerRecord& worker, const std::string& device) {
  if (!IsGpu(device)) return worker.memory_bytes;
  for (const DeviceRecord& known : worker.devices) {
    if (known.name == device) return known.memory_bytes;
  }
  return 0;
}

int GpusOf(const WorkerRecord& worker) {
  return static_cast<int>(
      std::count_if(worker.devices.begin(), worker.devices.end(),
                    [](const DeviceRecord& device) { return IsGpu(device.name); }));
}

int64_t GpuMemoryOf(const WorkerRecord& worker) {
  int64_t largest = 0;
  for (const DeviceRecord& device : worker.devices) {
    if (IsGpu(device.name)) largest = std::max(largest, device.memory_bytes);
  }
  return largest;
}

}  // namespace gyre
