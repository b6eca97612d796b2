#include "coordinator/scheduler.h"

#include <algorithm>
#include <numeric>

namespace gyre {
namespace {

void WakeAt(Millis at, Decisions* decisions) {
  if (!decisions->next || at < *decisions->next) decisions->next = at;
}

void DecideLeases(const SchedulerView& view, Millis now, Decisions* decisions) {
  for (const LeaseView& lease : view.leases) {
    const Millis next = lease.lost_at.value_or(lease.expires_at);
    if (next <= now) {
      auto& ended = lease.lost_at ? decisions->expired : decisions->suspected;
      ended.push_back({lease.job, lease.attempt});
      continue;
    }
    WakeAt(next, decisions);
    if (!lease.times_out_at) continue;
    if (*lease.times_out_at <= now) {
      decisions->timed_out.push_back({lease.job, lease.attempt});
    } else {
      WakeAt(*lease.times_out_at, decisions);
    }
  }
}

void DecideWorkers(const SchedulerView& view, Millis now, Decisions* decisions) {
  for (const WorkerView& worker : view.workers) {
    if (worker.silent_at <= now) {
      decisions->gone.push_back(worker.worker);
    } else {
      WakeAt(worker.silent_at, decisions);
    }
  }
}

/// The jobs of one sweep that may start now, in order of id.
class RunnableJobs {
 public:
  RunnableJobs(const QueueView& queue, Millis now) : queue_(queue), ready_(queue.ready->begin()) {
    for (const auto& [job, not_before] : *queue.delayed) {
      if (not_before <= now) due_.push_back(job);
    }
  }

  std::optional<int64_t> Take() {
    const bool has_ready = ready_ != queue_.ready->end();
    const bool has_due = next_due_ < due_.size();
    if (!has_ready && !has_due) return std::nullopt;
    if (has_due && (!has_ready || due_[next_due_] < *ready_)) return due_[next_due_++];
    return *ready_++;
  }

 private:
  const QueueView& queue_;
  std::set<int64_t>::const_iterator ready_;
  std::vector<int64_t> due_;
  size_t next_due_ = 0;
};

void DecideGrants(const SchedulerView& view, Millis now, Decisions* decisions) {
  std::vector<const QueueView*> queues;
  for (const QueueView& queue : view.queues) {
    if (queue.intent == SweepIntent::kActive) queues.push_back(&queue);
  }
  std::sort(queues.begin(), queues.end(), [](const QueueView* a, const QueueView* b) {
    return a->priority != b->priority ? a->priority > b->priority : a->sweep < b->sweep;
  });

  const auto is_gone = [&](int64_t worker) {
    return std::find(decisions->gone.begin(), decisions->gone.end(), worker) !=
           decisions->gone.end();
  };
  std::vector<size_t> order(view.offers.size());  // GPUs before processors
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_partition(order.begin(), order.end(),
                        [&](size_t i) { return view.offers[i].on_gpu; });
  std::vector<bool> taken(view.offers.size(), false);
  for (const QueueView* queue : queues) {
    RunnableJobs jobs(*queue, now);
    for (const size_t i : order) {
      if (taken[i] || !Fits(queue->needs, view.offers[i]) || is_gone(view.offers[i].worker))
        continue;
      const std::optional<int64_t> job = jobs.Take();
      if (!job) break;
      taken[i] = true;
      decisions->grants.push_back({view.offers[i].offer, *job});
    }
  }

  bool waiting = false;
  for (size_t i = 0; i < view.offers.size(); ++i) {
    if (taken[i]) continue;
    if (view.offers[i].ends_at <= now) {
      decisions->unanswered.push_back(view.offers[i].offer);
    } else {
      waiting = true;
      WakeAt(view.offers[i].ends_at, decisions);
    }
  }
  if (!waiting) return;
  for (const QueueView* queue : queues) {
    for (const auto& [job, not_before] : *queue->delayed) {
      if (not_before > now) WakeAt(not_before, decisions);
    }
  }
}

}  // namespace

bool Fits(const Resources& needs, const OfferView& offer) {
  const int64_t memory = needs.gpus > 0 ? offer.gpu_memory_bytes : offer.memory_bytes;
  return offer.slots >= 1 && needs.gpus <= offer.gpus && needs.cpus <= offer.cpus &&
         (needs.memory_bytes <= memory || memory == 0);
}

Decisions Decide(const SchedulerView& view, Millis now) {
  Decisions decisions;
  DecideLeases(view, now, &decisions);
  DecideWorkers(view, now, &decisions);
  DecideGrants(view, now, &decisions);
  return decisions;
}

}  // namespace gyre
