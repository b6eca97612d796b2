// Devices: what an offer comes to, by the memory that is left where a job would train.

#include <algorithm>

#include "coordinator/coordinator.h"
#include "coordinator/devices.h"

namespace gyre {

// A job that was leased a moment ago has not taken its memory yet: what those on the device need
// counts as taken, too. 0 = not known.
int64_t Coordinator::MemoryLeft(const WorkerEntry& worker, const std::string& device) {
  int64_t left = MemoryOf(worker.record, device);
  if (left <= 0) return 0;
  for (const int64_t id : worker.jobs) {
    const JobEntry& job = *state_.FindJob(id);
    const std::string& devices = job.live->record.device;
    const bool here = IsGpu(device) ? HasDevice(devices, device) : !IsGpu(devices);
    if (here) left -= state_.FindSweep(job.record.sweep_id)->record.resources.memory_bytes;
  }
  return std::max<int64_t>(left, 1);
}

OfferView Coordinator::ViewOf(int64_t id, const Offer& offer) {
  const WorkerEntry& worker = *state_.FindWorker(offer.worker);
  const AcquireCall& call = offer.call;
  OfferView view{.offer = id,
                 .worker = offer.worker,
                 .slots = call.slots,
                 .cpus = call.cpus,
                 .memory_bytes = MemoryLeft(worker, call.device),
                 .ends_at = offer.ends_at,
                 .gpus = static_cast<int>(call.free_gpus.size()),
                 .on_gpu = IsGpu(call.device)};
  if (!view.on_gpu) {
    // What the machine says is free counts as well; it may not know.
    view.memory_bytes = call.memory_bytes <= 0 || view.memory_bytes == 0
                            ? call.memory_bytes
                            : std::min(view.memory_bytes, call.memory_bytes);
  }
  for (const std::string& gpu : call.free_gpus) {
    const int64_t memory = MemoryOf(worker.record, gpu);
    const int64_t smallest = view.gpu_memory_bytes;
    view.gpu_memory_bytes = smallest == 0 ? memory : std::min(smallest, memory);
  }
  return view;
}

}  // namespace gyre
