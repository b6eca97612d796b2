#pragma once

// What this machine offers: its cores and memory (base/machine.h), and its devices, of which a
// worker trains on those that its user wants.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "worker/gpu_report.h"

namespace gyre {

struct DeviceInfo {
  std::string name;   // "cpu", "cuda:0"
  std::string kind;   // "cpu" | "cuda"
  std::string model;  // "AMD EPYC 9B45"
  int64_t memory_bytes = 0;
};

struct Machine {
  int cores = 1;
  int64_t memory_bytes = 0;
  DeviceInfo cpu;
};

/// Reads /proc and /sys below `root`. What cannot be read falls back to one core and no memory.
Machine ReadMachine(const std::filesystem::path& root = "/");

/// The report that choosing these needs. At once where nobody has to be asked: for "cpu" alone, and
/// for "auto" on a machine without a driver, since a trainer takes half a second to load CUDA's
/// libraries. Warns when the trainer does not answer.
GpuReport AskIfWanted(const std::string& wanted, const std::filesystem::path& trainer,
                      const std::filesystem::path& root = "/");

/// The devices that `wanted` names: "auto" (all GPUs, or the CPU where there is none), or a list of
/// "cpu", "cuda" (all GPUs) and "cuda:N". INVALID_ARGUMENT: it is no such list, or this machine has
/// no such device, and why.
Result<std::vector<DeviceInfo>> ChooseDevices(const std::string& wanted, const DeviceInfo& cpu,
                                              const GpuReport& report);

/// What a worker says when it starts: "cuda:0 (NVIDIA H200), cuda:1 (NVIDIA H200)", or "no GPU: no
/// NVIDIA driver is installed; jobs train on the CPU".
std::string DescribeChoice(const std::vector<DeviceInfo>& devices, const GpuReport& report);

bool IsGpu(const DeviceInfo& device);

/// Takes out the GPUs that a later report does not have, and says which and why; empty = none.
std::string RemoveLost(const GpuReport& report, std::vector<DeviceInfo>* devices);

}  // namespace gyre
