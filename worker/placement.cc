#include "worker/placement.h"

#include <algorithm>
#include <climits>
#include <map>
#include <sstream>

namespace gyre {
namespace {

// A small model leaves its GPU idle between kernels, which a few others can fill; each of them
// takes some hundred MiB of the GPU's memory for its process alone.
constexpr int kSlotsPerGpu = 4;

}  // namespace

Result<SlotPlan> PlanSlots(const std::vector<DeviceInfo>& devices, int slots, int per_gpu,
                           int cores) {
  const auto gpus = static_cast<int>(std::count_if(devices.begin(), devices.end(), IsGpu));
  const bool on_cpu = gpus < static_cast<int>(devices.size());
  if (gpus == 0) return SlotPlan{slots > 0 ? slots : std::max(1, cores), 0};
  SlotPlan plan{slots, per_gpu};
  if (per_gpu == 0) {
    plan.per_gpu = slots > 0 && !on_cpu ? (slots + gpus - 1) / gpus
                                        : std::clamp(cores / gpus, 1, kSlotsPerGpu);
  }
  const int shared = gpus * plan.per_gpu;
  if (slots == 0) plan.slots = shared + (on_cpu ? std::max(1, cores - shared) : 0);
  if (!on_cpu && plan.slots > shared) {
    return InvalidArgument(std::to_string(slots) + " slots are more than the " +
                           std::to_string(shared) + " of the GPUs: leave one of --slots and " +
                           "--slots-per-gpu out, or add cpu to --devices");
  }
  return plan;
}

std::vector<std::string> DeviceNames(const std::string& devices) {
  std::vector<std::string> names;
  std::istringstream list(devices);
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  return names;
}

Room RoomBeside(const std::vector<Occupied>& jobs, const std::vector<DeviceInfo>& devices,
                const SlotPlan& plan) {
  std::map<std::string, int> taken;  // places of each device
  for (const Occupied& job : jobs) {
    for (const std::string& name : DeviceNames(job.device)) {
      taken[name] += job.alone ? plan.per_gpu : 1;
    }
  }
  Room room;
  int shared = 0, fewest = INT_MAX;
  bool on_cpu = false;
  for (const DeviceInfo& device : devices) {
    if (!IsGpu(device)) {
      on_cpu = true;
      continue;
    }
    const int used = taken[device.name];
    if (used == 0) room.free_gpus.push_back(device.name);
    if (used >= plan.per_gpu) continue;
    shared += plan.per_gpu - used;
    if (used < fewest) room.device = device.name;
    fewest = std::min(fewest, used);
  }
  const int left = plan.slots - static_cast<int>(jobs.size());
  room.slots = std::max(0, on_cpu ? left : std::min(left, shared));
  if (room.device.empty() && on_cpu) room.device = "cpu";
  return room;
}

}  // namespace gyre
