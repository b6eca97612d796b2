#pragma once

// Whose turn it is, of those whose jobs could start now. Pure.
//
// Of the highest priority that has any: the submitter whose running jobs use least, then of his
// sweeps the one whose jobs use least, each grant counted as it is made. What is used is cores, a
// GPU for as much as kCoresPerGpu of them; all that runs counts, whatever its priority. Of equals
// goes first who was served least recently, then the older sweep: so that also where there is room
// for one job at a time everybody comes up. A job that a place is kept for goes before all others
// of its priority: else those that come up while it waits would take the place whenever it is free.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "coordinator/scheduler.h"

namespace gyre {

inline constexpr int kCoresPerGpu = 8;

/// What a job counts for.
inline int64_t ShareOf(const Resources& needs) {
  return needs.cpus + int64_t{kCoresPerGpu} * needs.gpus;
}

/// The jobs of one sweep that may start now, in order of id.
class RunnableQueue {
 public:
  RunnableQueue(const QueueView& view, Millis now, std::optional<int64_t> except);
  /// Of one job.
  RunnableQueue(const QueueView& view, int64_t job);

  const QueueView& view() const { return *view_; }
  /// The first; nothing when there is none left.
  std::optional<int64_t> Job() const;
  void Skip();

 private:
  const QueueView* view_;
  std::set<int64_t>::const_iterator ready_;
  std::vector<int64_t> due_;
  size_t next_due_ = 0;
  std::optional<int64_t> except_;

  void PassExcepted();
};

class FairOrder {
 public:
  /// `claimed`: the job that a place is kept for.
  FairOrder(const SchedulerView& view, Millis now, std::optional<int64_t> claimed);

  /// The queue whose turn it is; null when there is none left.
  RunnableQueue* First();
  /// The first job of First() was granted.
  void Served();
  /// First() gets nothing more.
  void Drop();

  /// Of the sweep of the job that a place is kept for.
  int PriorityOfClaim() const { return claim_priority_; }

  /// When the next pause of a job ends, over all sweeps that are active.
  std::optional<Millis> NextDue() const;

 private:
  // Uses, last served, and who: the smallest is first.
  using Rank = std::tuple<int64_t, int64_t, int64_t>;
  struct Submitter {
    int64_t served = 0;
    std::map<Rank, RunnableQueue> queues;
  };

  void FindClaim(std::optional<int64_t> job);
  void EnterNextPriority();
  Rank RankOf(int submitter) const;

  const Millis now_;
  std::optional<int64_t> claimed_;         // job
  std::vector<const QueueView*> waiting_;  // the highest priority last
  std::vector<const QueueView*> active_;
  std::map<int, int64_t> used_by_submitter_;
  std::map<int64_t, int64_t> used_by_sweep_;
  int64_t last_served_ = 0;
  // The job that a place is kept for, until it is its priority's turn; and whose turn it is.
  std::optional<RunnableQueue> claim_;
  bool claims_ = false;
  int claim_priority_ = 0;
  std::map<int64_t, int64_t> served_by_claim_;  // by sweep
  // Of the priority that is being served.
  std::map<int, Submitter> submitters_;
  std::set<Rank> order_;  // of submitters with queues left
};

/// How many jobs start before this one, if room for one after the other comes up; `most` where
/// there are as many or more.
int JobsAhead(const SchedulerView& view, Millis now, int64_t job, int most);

}  // namespace gyre
