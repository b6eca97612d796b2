#pragma once

// What this machine offers: its cores and memory (base/machine.h), and its devices.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"

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
  std::vector<DeviceInfo> devices;
};

/// Reads /proc and /sys below `root`. What cannot be read falls back to one core and no memory.
Machine ReadMachine(const std::filesystem::path& root = "/");

/// INVALID_ARGUMENT unless `devices` is a comma-separated list of devices that this machine has
/// ("cpu").
Status CheckDevices(const std::string& devices, const Machine& machine);

}  // namespace gyre
