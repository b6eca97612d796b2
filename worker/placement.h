#pragma once

// What of a worker's devices is free. Jobs that ask for no GPU share one, several at a time, since
// small models leave most of it idle; a job that asks for GPUs gets as many that nothing else is
// on, all or none. Pure: what runs is given each time, so that there is nothing to keep in step.

#include <string>
#include <vector>

#include "base/status.h"
#include "worker/devices.h"

namespace gyre {

struct SlotPlan {
  int slots = 1;    // jobs at a time, on all devices together
  int per_gpu = 0;  // of those that share one
};

/// A choice of zero is made here: four jobs a GPU, but no more than there are cores for, since each
/// has a thread that feeds it; on the CPU one a core that is left. INVALID_ARGUMENT: more slots
/// than the GPUs have.
Result<SlotPlan> PlanSlots(const std::vector<DeviceInfo>& devices, int slots, int per_gpu,
                           int cores);

/// Where a job runs.
struct Occupied {
  std::string device;  // as in Lease
  bool alone = false;  // it shares with nobody
  int cpus = 1;
};

struct Room {
  int slots = 0;                       // free ones, for jobs that ask for no GPU
  std::string device;                  // where the next of them would train; empty: none has room
  std::vector<std::string> free_gpus;  // with no job at all
};
/// The GPU with the fewest jobs is next; the CPU where there is no other room.
Room RoomBeside(const std::vector<Occupied>& jobs, const std::vector<DeviceInfo>& devices,
                const SlotPlan& plan);

/// The names in "cuda:0,cuda:2".
std::vector<std::string> DeviceNames(const std::string& devices);

}  // namespace gyre
