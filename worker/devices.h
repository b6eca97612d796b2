#pragma once

// What this machine offers: its cores and memory as far as this process may use them (affinity and
// cgroup limits honoured, so that a container of 2 cores on a machine of 64 says 2), and its
// devices.

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

/// Memory that a new process could use now.
int64_t AvailableMemoryBytes(const std::filesystem::path& root = "/");

/// How many processes the kernel has killed for want of memory since the machine started.
int64_t OutOfMemoryKills(const std::filesystem::path& root = "/");

/// INVALID_ARGUMENT unless `devices` is a comma-separated list of devices that this machine has
/// ("cpu").
Status CheckDevices(const std::string& devices, const Machine& machine);

}  // namespace gyre
