#pragma once

// Heartbeats off the busy path. The board knows, as of the last commit, who holds which attempt and
// what is wanted of it, so a heartbeat is answered from it at once, however long the disk takes or
// how many reports wait. What the heartbeat said is noted with the time at which it came, the
// newest of each worker, and taken by the next transaction before it decides anything: who spoke in
// time is not taken for silent because the coordinator was slow.
//
// What the board does not know (a worker that has to register, an attempt that is not its any more)
// it leaves to the coordinator itself. Thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "coordinator/calls.h"

namespace gyre {

class LeaseBoard {
 public:
  // Of any thread.
  /// The answer; none: ask the coordinator.
  std::optional<HeartbeatReply> Beat(const HeartbeatCall& call, Millis now);

  // Of the thread that commits, after a commit.
  void Put(const AttemptRef& attempt, WorkerDesire desire);
  void Remove(int64_t job);
  void Welcome(const std::string& incarnation);
  void Forget(const std::string& incarnation);
  void Clear();

  struct Noted {
    HeartbeatCall call;
    Millis at{0};
  };
  /// The heartbeats that came since.
  std::vector<Noted> Take();

  /// What it says of that attempt; none: nothing.
  std::optional<WorkerDesire> Find(const AttemptRef& attempt) const;
  size_t size() const;

 private:
  struct Entry {
    AttemptRef attempt;
    WorkerDesire desire = WorkerDesire::kContinue;
  };
  const Entry* FindLocked(const AttemptRef& attempt) const GYRE_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::unordered_map<int64_t, Entry> entries_ GYRE_GUARDED_BY(mutex_);  // by job
  // By incarnation: whether it is in noted_.
  std::unordered_map<std::string, bool> workers_ GYRE_GUARDED_BY(mutex_);
  std::vector<Noted> noted_ GYRE_GUARDED_BY(mutex_);
};

}  // namespace gyre
