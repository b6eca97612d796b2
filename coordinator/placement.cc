// What the scheduler sees: queues, leases, workers and offers, each offer with the memory that is
// left where a job would train.

#include <algorithm>

#include "coordinator/coordinator.h"
#include "coordinator/devices.h"
#include "coordinator/explain.h"

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

// An attempt that has just ended leaves its memory to its place, which is an offer of its own.
std::map<int64_t, int64_t> Coordinator::MemoryInPlaces() const {
  std::map<int64_t, int64_t> bytes;
  for (const auto& [id, offer] : offers_) {
    if (offer.in_place && !offer.settled) bytes[offer.worker] += offer.call.memory_bytes;
  }
  return bytes;
}

OfferView Coordinator::ViewOf(int64_t id, const Offer& offer, int64_t bytes_in_places) {
  const WorkerEntry& worker = *state_.FindWorker(offer.worker);
  const AcquireCall& call = offer.call;
  OfferView view{.offer = id,
                 .worker = offer.worker,
                 .slots = call.slots,
                 .cpus = call.cpus,
                 .memory_bytes = MemoryLeft(worker, call.device),
                 .ends_at = offer.ends_at,
                 .gpus = static_cast<int>(call.free_gpus.size()),
                 .on_gpu = IsGpu(call.device),
                 .in_place = offer.in_place};
  if (!view.on_gpu) {
    if (!offer.in_place && bytes_in_places > 0 && view.memory_bytes > 0) {
      view.memory_bytes = std::max<int64_t>(view.memory_bytes - bytes_in_places, 1);
    }
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

namespace {

/// How long a job runs that trains so many tokens as fast as this one now; nothing where it has
/// not said.
std::optional<Millis> TimeFor(int64_t tokens, const AttemptProgress& progress) {
  // A year is as good as any longer time, and has no overflow.
  constexpr double kLongest = 365.0 * 24 * 3600 * 1000;
  if (!(progress.tokens_per_second > 0)) return std::nullopt;
  const double ms = static_cast<double>(std::max<int64_t>(tokens, 0)) * 1000;
  return Millis(static_cast<int64_t>(std::min(ms / progress.tokens_per_second, kLongest)));
}

}  // namespace

LeaseView Coordinator::ViewOf(const JobEntry& job, const Moment& at) {
  const SweepEntry& sweep = *state_.FindSweep(job.record.sweep_id);
  const LiveAttempt& live = *job.live;
  const Resources& needs = sweep.record.resources;
  LeaseView lease{.job = job.record.id,
                  .attempt = live.record.number,
                  .expires_at = live.expires_at,
                  .lost_at = live.lost_at};
  const int64_t timeout_ms = sweep.record.timeout_ms;
  if (timeout_ms > 0 && !live.timed_out) {
    lease.times_out_at = live.leased_at + Millis(timeout_ms - job.record.ran_ms);
  }
  lease.sweep = sweep.record.id;
  lease.worker = live.record.worker_id;
  lease.submitter = sweep.submitter;
  lease.needs = {.gpus = needs.gpus, .cpus = needs.cpus, .memory_bytes = needs.memory_bytes};
  const std::string& devices = live.record.device;
  if (IsGpu(devices)) {
    lease.gpus_taken = 1 + static_cast<int>(std::count(devices.begin(), devices.end(), ','));
  }
  if (const auto left = TimeFor(job.record.tokens_budget - live.progress.tokens, live.progress)) {
    lease.ends_at = at.now + *left;
  } else {
    lease.ends_at = lease.times_out_at;
  }
  return lease;
}

SchedulerView Coordinator::View(const Moment& at) {
  SchedulerView view;
  std::map<int64_t, Millis> expected;  // by sweep, of the slowest job that runs
  for (const int64_t id : state_.live()) {
    const JobEntry& job = *state_.FindJob(id);
    view.leases.push_back(ViewOf(job, at));
    if (const auto whole = TimeFor(job.record.tokens_budget, job.live->progress)) {
      Millis& longest = expected[job.record.sweep_id];
      longest = std::max(longest, *whole);
    }
  }
  for (const auto& [id, sweep] : state_.sweeps()) {
    if (sweep.ready.empty() && sweep.delayed.empty()) continue;
    const SweepRecord& record = sweep.record;
    const Resources& needs = record.resources;
    QueueView queue{
        .sweep = id,
        .priority = record.priority,
        .intent = record.intent,
        .needs = {.gpus = needs.gpus, .cpus = needs.cpus, .memory_bytes = needs.memory_bytes},
        .ready = &sweep.ready,
        .delayed = &sweep.delayed,
        .avoided = sweep.avoided.empty() ? nullptr : &sweep.avoided,
        .submitter = sweep.submitter,
        .served = sweep.served,
        .submitter_served = state_.ServedOf(sweep.submitter)};
    Millis longest = sweep.longest_run;
    if (const auto found = expected.find(id); found != expected.end()) {
      longest = std::max(longest, found->second);
    }
    if (longest == Millis(0)) longest = Millis(record.timeout_ms);
    if (longest > Millis(0)) queue.expected = longest;
    view.queues.push_back(std::move(queue));
  }
  for (const auto& [id, worker] : state_.workers()) {
    if (worker.record.gone) continue;
    view.workers.push_back({.worker = id,
                            .silent_at = worker.silent_at,
                            .takes_work = worker.problem.empty(),
                            .whole = WholeOffer(worker.record)});
  }
  if (reservation_) view.reserved = reservation_->job;
  const std::map<int64_t, int64_t> in_places = MemoryInPlaces();
  for (const auto& [id, offer] : offers_) {
    if (offer.settled) continue;
    const auto in_place = in_places.find(offer.worker);
    view.offers.push_back(ViewOf(id, offer, in_place == in_places.end() ? 0 : in_place->second));
  }
  return view;
}

}  // namespace gyre
