#include "coordinator/scheduler.h"

#include <algorithm>
#include <utility>

#include "coordinator/fair_share.h"
#include "coordinator/reservation.h"

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

/// What one round of handing out comes to.
struct Round {
  std::vector<Grant> grants;
  std::optional<Reservation> reservation;
  std::vector<int64_t> unanswered;
  std::optional<Millis> next;
  std::optional<int64_t> first_without_room;  // job
};

/// `reserved` is the job that a place is kept for. Of those that come up and find no room, the one
/// that should be next to have one is of the highest priority, and of the sweep served least
/// lately.
Round HandOut(const SchedulerView& view, Millis now, const std::vector<int64_t>& gone,
              std::optional<int64_t> reserved) {
  Round round;
  OpenOffers offers(view, now, gone);
  FairOrder order(view, now, reserved);
  const QueueView* blocked = nullptr;
  while (!offers.empty()) {
    RunnableQueue* queue = order.First();
    if (queue == nullptr) break;
    const QueueView& sweep = queue->view();
    const std::optional<int64_t> job = queue->Job();
    if (!job) {
      order.Drop();
      continue;
    }
    if (const auto offer = offers.Take(sweep, *job)) {
      round.grants.push_back({*offer, *job});
      order.Served();
      continue;
    }
    const bool particular = sweep.avoided != nullptr && sweep.avoided->contains(*job);
    if (job == reserved) {
      offers.Reserve(sweep, *job);
    } else if (!particular && offers.CouldEver(sweep, *job)) {
      const bool first = blocked == nullptr ||
                         (sweep.priority == blocked->priority && sweep.served < blocked->served);
      if (first) blocked = &sweep;
      if (first) round.first_without_room = job;
    }
    if (particular && job != reserved) {
      queue->Skip();  // those behind it are not
    } else {
      order.Drop();  // all that is left of it needs the same
    }
  }
  round.reservation = offers.reservation();
  if (offers.AnswerOrWait(&round.unanswered, &round.next)) {
    const std::optional<Millis> due = order.NextDue();
    if (due && (!round.next || *due < *round.next)) round.next = due;
  }
  // One of a higher priority takes the place over.
  const bool keeps =
      round.reservation && blocked != nullptr && order.PriorityOfClaim() >= blocked->priority;
  const bool granted = std::any_of(round.grants.begin(), round.grants.end(),
                                   [&](const Grant& g) { return g.job == reserved; });
  if (keeps || granted) round.first_without_room.reset();
  return round;
}

void DecideGrants(const SchedulerView& view, Millis now, Decisions* decisions) {
  Round round = HandOut(view, now, decisions->gone, view.reserved);
  // Who is to have the place decides who may have the offers: once more, with that known.
  if (round.first_without_room) {
    round = HandOut(view, now, decisions->gone, round.first_without_room);
  }
  decisions->grants = std::move(round.grants);
  decisions->unanswered = std::move(round.unanswered);
  decisions->reservation = round.reservation;
  if (round.next) WakeAt(*round.next, decisions);
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
