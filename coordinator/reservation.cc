#include "coordinator/reservation.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace gyre {
namespace {

void TakeFrom(OfferView* room, const Resources& needs, int gpus) {
  room->slots -= 1;
  room->cpus -= needs.cpus;
  room->gpus -= gpus;
  // 0 would say that it is not known.
  if (needs.gpus == 0 && room->memory_bytes > 0) {
    room->memory_bytes = std::max<int64_t>(room->memory_bytes - needs.memory_bytes, 1);
  }
}

}  // namespace

OpenOffers::OpenOffers(const SchedulerView& view, Millis now, const std::vector<int64_t>& gone)
    : view_(view),
      now_(now),
      gone_(gone.begin(), gone.end()),
      order_(view.offers.size()),
      taken_(view.offers.size(), false) {
  std::iota(order_.begin(), order_.end(), size_t{0});
  std::erase_if(order_, [&](size_t i) { return gone_.contains(view.offers[i].worker); });
  std::stable_partition(order_.begin(), order_.end(),
                        [&](size_t i) { return view.offers[i].on_gpu; });
  open_ = order_.size();
  for (const OfferView& offer : view.offers) {
    if (offer.in_place) in_place_.insert(offer.worker);
  }
}

bool OpenOffers::IsAvoided(const QueueView& queue, int64_t job, int64_t worker) const {
  if (queue.avoided == nullptr) return false;
  const auto avoided = queue.avoided->find(job);
  if (avoided == queue.avoided->end() || !avoided->second.contains(worker)) return false;
  return std::any_of(view_.workers.begin(), view_.workers.end(), [&](const WorkerView& other) {
    return other.takes_work && !gone_.contains(other.worker) &&
           !avoided->second.contains(other.worker) && Fits(queue.needs, other.whole);
  });
}

bool OpenOffers::MayHave(const QueueView& queue, int64_t job, const OfferView& offer) const {
  if (!Fits(queue.needs, offer) || IsAvoided(queue, job, offer.worker)) return false;
  if (!reservation_ || reservation_->worker != offer.worker || queue.priority > priority_) {
    return true;
  }
  const bool ends_before = queue.expected && reservation_->starts_at &&
                           now_ + *queue.expected <= *reservation_->starts_at;
  return ends_before || Fits(queue.needs, room_beside_);
}

std::optional<int64_t> OpenOffers::Take(const QueueView& queue, int64_t job) {
  const bool particular = queue.avoided != nullptr && queue.avoided->contains(job);
  size_t& from = searched_[queue.sweep];
  for (size_t at = from; at < order_.size(); ++at) {
    const size_t i = order_[at];
    const OfferView& offer = view_.offers[i];
    const bool takes = !taken_[i] && MayHave(queue, job, offer);
    if (!takes) continue;
    if (!particular) from = at + 1;
    taken_[i] = true;
    --open_;
    const int gpus = std::max(queue.needs.gpus, offer.on_gpu ? 1 : 0);
    granted_[offer.worker].push_back(
        {queue.needs, gpus, queue.expected ? std::optional(now_ + *queue.expected) : std::nullopt});
    if (reservation_ && reservation_->worker == offer.worker) {
      TakeFrom(&room_beside_, queue.needs, gpus);
    }
    return offer.offer;
  }
  if (!particular) from = order_.size();
  return std::nullopt;
}

std::optional<OpenOffers::Place> OpenOffers::PlaceOn(const WorkerView& worker,
                                                     const Resources& needs,
                                                     std::vector<Running> running) const {
  // What it offers with nothing running is all that it has: less than the whole, since others use
  // the machine, too.
  if (running.empty() && !in_place_.contains(worker.worker)) return std::nullopt;
  std::stable_sort(running.begin(), running.end(), [](const Running& a, const Running& b) {
    return a.ends_at.value_or(Millis::max()) < b.ends_at.value_or(Millis::max());
  });
  Place place{.starts_at = now_};
  for (size_t ended = 0; ended <= running.size(); ++ended) {
    if (ended > 0) {
      const std::optional<Millis> end = running[ended - 1].ends_at;
      if (!end) ++place.unknown;
      place.starts_at = end ? std::optional(std::max(*end, now_)) : std::nullopt;
    }
    OfferView room = worker.whole;
    for (size_t i = ended; i < running.size(); ++i) {
      TakeFrom(&room, running[i].needs, running[i].gpus);
    }
    if (!Fits(needs, room)) continue;
    place.room = room;
    TakeFrom(&place.room, needs, needs.gpus);
    return place;
  }
  return std::nullopt;
}

bool OpenOffers::CouldTake(const WorkerView& worker, const QueueView& queue, int64_t job) const {
  return worker.takes_work && !gone_.contains(worker.worker) && Fits(queue.needs, worker.whole) &&
         !IsAvoided(queue, job, worker.worker);
}

bool OpenOffers::CouldEver(const QueueView& queue, int64_t job) const {
  return std::any_of(view_.workers.begin(), view_.workers.end(),
                     [&](const WorkerView& worker) { return CouldTake(worker, queue, job); });
}

void OpenOffers::Reserve(const QueueView& queue, int64_t job) {
  std::map<int64_t, std::vector<Running>> running;
  for (const WorkerView& worker : view_.workers) {
    if (CouldTake(worker, queue, job)) running[worker.worker];
  }
  if (running.empty()) return;
  for (const LeaseView& lease : view_.leases) {
    const auto found = running.find(lease.worker);
    if (found != running.end()) {
      found->second.push_back({lease.needs, lease.gpus_taken, lease.ends_at});
    }
  }
  using Order = std::tuple<Millis, int, int64_t>;
  std::optional<Order> best;
  for (const WorkerView& worker : view_.workers) {
    const auto found = running.find(worker.worker);
    if (found == running.end()) continue;
    if (const auto now = granted_.find(worker.worker); now != granted_.end()) {
      found->second.insert(found->second.end(), now->second.begin(), now->second.end());
    }
    const auto place = PlaceOn(worker, queue.needs, std::move(found->second));
    if (!place) continue;
    const Order order{place->starts_at.value_or(Millis::max()), place->unknown, worker.worker};
    if (best && *best <= order) continue;
    best = order;
    reservation_ = {job, worker.worker, place->starts_at};
    room_beside_ = place->room;
    priority_ = queue.priority;
  }
}

bool OpenOffers::AnswerOrWait(std::vector<int64_t>* unanswered, std::optional<Millis>* next) const {
  bool waiting = false;
  for (size_t i = 0; i < view_.offers.size(); ++i) {
    if (taken_[i]) continue;
    const OfferView& offer = view_.offers[i];
    if (offer.ends_at <= now_) {
      unanswered->push_back(offer.offer);
    } else {
      waiting = true;
      if (!*next || offer.ends_at < **next) *next = offer.ends_at;
    }
  }
  return waiting;
}

}  // namespace gyre
