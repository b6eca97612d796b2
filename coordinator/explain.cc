#include "coordinator/explain.h"

#include <algorithm>
#include <cstdio>

#include "coordinator/devices.h"
#include "trainer/model/memory_estimate.h"

namespace gyre {
namespace {

std::string Gib(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

/// Of a device that takes jobs: what a worker has GPUs for trains there.
int64_t MostMemory(const WorkerRecord& worker) {
  const bool on_cpu = worker.devices.empty() ||
                      std::any_of(worker.devices.begin(), worker.devices.end(),
                                  [](const DeviceRecord& device) { return !IsGpu(device.name); });
  return std::max(GpuMemoryOf(worker), on_cpu ? worker.memory_bytes : 0);
}

}  // namespace

OfferView WholeOffer(const WorkerRecord& worker) {
  return {.worker = worker.id,
          .slots = worker.slots,
          .cpus = worker.cpus,
          .memory_bytes = MostMemory(worker),
          .gpus = GpusOf(worker),
          .gpu_memory_bytes = GpuMemoryOf(worker)};
}

std::string WhyNoneFits(const Resources& needs, const std::vector<const WorkerRecord*>& workers) {
  int cpus = 0, gpus = 0, active = 0;
  int64_t memory = 0;
  for (const WorkerRecord* worker : workers) {
    if (worker->gone) continue;
    ++active;
    cpus = std::max(cpus, worker->cpus);
    memory = std::max(memory, needs.gpus > 0 ? GpuMemoryOf(*worker) : MostMemory(*worker));
    gpus = std::max(gpus, GpusOf(*worker));
    if (Fits(needs, WholeOffer(*worker))) return "";
  }
  if (active == 0) return "no worker is connected";
  if (needs.gpus > 0 && gpus == 0) return "a job needs a GPU, and no worker has one";
  if (needs.gpus > gpus) {
    return "a job needs " + std::to_string(needs.gpus) + " GPUs, and no worker has more than " +
           std::to_string(gpus);
  }
  if (needs.cpus > cpus) {
    return "a job needs " + std::to_string(needs.cpus) + " cpus, and the largest worker has " +
           std::to_string(cpus);
  }
  if (needs.memory_bytes > memory) {
    if (needs.memory_parts.empty()) {
      return "a job needs " + Gib(needs.memory_bytes) + " of memory, and the largest worker has " +
             Gib(memory);
    }
    return "a job needs " + Gib(needs.memory_bytes) + " of memory (" + needs.memory_parts +
           "), and the largest worker has " + Gib(memory) + "; " + HowToNeedLess();
  }
  return "no single worker has both the cpus and the memory that a job needs";
}

}  // namespace gyre
