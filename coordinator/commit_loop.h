#pragma once

// The one thread that changes anything. Calls come in from any thread; whatever has come in while
// the last commit was being written shares the next one (group commit without a timer: the disk
// sets the pace). Between calls it wakes up when the scheduler says that time alone will change
// something.
//
// Reports (calls with bytes) wait for everything else, so that a flood of them holds up no lease
// and no question of a person; a commit takes so many bytes of them that it does not take long, and
// HasRoom() says when no more should be kept waiting. Backlog() is what a worker that has reported
// is asked to wait before it does again.

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "coordinator/coordinator.h"

namespace gyre {

class CommitLoop {
 public:
  /// Both outlive the loop. From here on only the loop touches the coordinator.
  CommitLoop(Coordinator& coordinator, const Clock& clock);
  /// Stops.
  ~CommitLoop();

  /// `call.done` is called exactly once, after the commit, from the loop's thread or, after Stop,
  /// from this one with UNAVAILABLE. Never blocks.
  void Post(Call call);

  /// Something is on the coordinator's board. Never blocks.
  void Wake();
  Millis Now() const { return clock_.Now(); }

  /// Whether so many bytes of reports may be posted; else the caller has to come again.
  bool HasRoom(size_t bytes) const;
  /// How long it takes to write the reports that wait, from what the last ones took; 0 = they all
  /// go with the next commit.
  Millis Backlog() const;

  /// Posts and waits. For threads that may wait.
  Status Do(std::function<Status(const Moment&)> run);
  /// The same for a call that changes nothing: it is answered also while the disk is full.
  Status Read(std::function<Status(const Moment&)> run);

  /// Runs what was posted before, answers every waiting AcquireLease without a lease, and ends.
  /// Idempotent.
  void Stop();

  /// The coordinator's, as of the last commit.
  Status health() const;

 private:
  Status Wait(Call call);
  void Run();
  std::vector<Call> TakeLocked(size_t* bytes) GYRE_REQUIRES(mutex_);

  Coordinator& coordinator_;
  const Clock& clock_;
  mutable Mutex mutex_;
  Condition changed_;
  std::deque<Call> posted_ GYRE_GUARDED_BY(mutex_);
  std::deque<Call> reports_ GYRE_GUARDED_BY(mutex_);
  size_t report_bytes_ GYRE_GUARDED_BY(mutex_) = 0;  // of reports_
  double bytes_per_ms_ GYRE_GUARDED_BY(mutex_) = 0;  // of reports, lately; 0 = not known
  bool woken_ GYRE_GUARDED_BY(mutex_) = false;
  bool stopping_ GYRE_GUARDED_BY(mutex_) = false;
  Status health_ GYRE_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace gyre
