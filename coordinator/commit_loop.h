#pragma once

// The one thread that changes anything. Calls come in from any thread; whatever has come in while
// the last commit was being written shares the next one (group commit without a timer: the disk
// sets the pace). Between calls it wakes up when the scheduler says that time alone will change
// something.

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

  Coordinator& coordinator_;
  const Clock& clock_;
  mutable Mutex mutex_;
  Condition changed_;
  std::vector<Call> posted_ GYRE_GUARDED_BY(mutex_);
  bool stopping_ GYRE_GUARDED_BY(mutex_) = false;
  Status health_ GYRE_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace gyre
