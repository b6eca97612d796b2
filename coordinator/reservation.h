#pragma once

// The offers of one pass, and the place that is kept for a job that none of them has room for.
// Pure.
//
// The reservation is with the worker on which the job can start soonest, as far as the ends of what
// runs there are known. Until then another job starts on that worker only if it will have ended by
// the time, or if the job that waits has room beside it. There is one reservation at a time, for
// the first job that needs it; it lasts as long as that job is the first, and holds nothing but
// room.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "coordinator/scheduler.h"

namespace gyre {

class OpenOffers {
 public:
  /// Offers of workers that are `gone` only come to their end.
  OpenOffers(const SchedulerView& view, Millis now, const std::vector<int64_t>& gone);

  bool empty() const { return open_ == 0; }
  /// The first offer that the job may have, which then is gone.
  std::optional<int64_t> Take(const QueueView& queue, int64_t job);
  /// Whether some worker could take the job when less runs on it.
  bool CouldEver(const QueueView& queue, int64_t job) const;
  /// Keeps a place for the job, where a worker could take it.
  void Reserve(const QueueView& queue, int64_t job);
  const std::optional<Reservation>& reservation() const { return reservation_; }

  /// Which of those left are over, and when the next one is; true if any waits on.
  bool AnswerOrWait(std::vector<int64_t>* unanswered, std::optional<Millis>* next) const;

 private:
  struct Running {
    Resources needs;
    int gpus = 0;
    std::optional<Millis> ends_at;
  };
  struct Place {
    std::optional<Millis> starts_at;
    int unknown = 0;  // jobs that have to end, and nobody knows when
    OfferView room;   // beside the job, once it has started
  };

  bool MayHave(const QueueView& queue, int64_t job, const OfferView& offer) const;
  bool CouldTake(const WorkerView& worker, const QueueView& queue, int64_t job) const;
  bool IsAvoided(const QueueView& queue, int64_t job, int64_t worker) const;
  /// Where a job would start on a worker on which these run; nothing if it never could.
  std::optional<Place> PlaceOn(const WorkerView& worker, const Resources& needs,
                               std::vector<Running> running) const;

  const SchedulerView& view_;
  const Millis now_;
  std::set<int64_t> gone_;
  std::set<int64_t> in_place_;  // workers that may have more than they offer
  std::vector<size_t> order_;   // of offers: GPUs before processors
  std::vector<bool> taken_;
  size_t open_ = 0;
  // Where a sweep's next search begins: what one of its jobs cannot have, the next cannot either.
  std::map<int64_t, size_t> searched_;
  std::map<int64_t, std::vector<Running>> granted_;  // in this pass, by worker
  std::optional<Reservation> reservation_;
  OfferView room_beside_;  // the reserved job
  int priority_ = 0;       // its
};

}  // namespace gyre
