#pragma once

// Keeps a worker registered and its leases alive: one heartbeat after another from a thread that
// computes nothing and waits for nobody, on a fixed schedule. While the coordinator cannot be
// reached it goes on trying, with pauses of 0.2 to 1 s, and says so once in the log; nothing else
// of the worker stops for that.
//
// Threads: all calls from any.

#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "worker/backoff.h"
#include "worker/coordinator_client.h"

namespace gyre {

/// Whose leases are kept. All calls come from the keeper's thread and must not wait.
class LeaseHolder {
 public:
  virtual ~LeaseHolder() = default;
  /// Every attempt from the answer that granted it to the one that acknowledges its outcome.
  virtual std::vector<HeldLease> Held() = 0;
  virtual void Obey(const LeaseDesire& desire) = 0;
  /// What an earlier process has left to be delivered; OnRegistered has the answer.
  virtual std::vector<LeftBehind> Left() = 0;
  /// What keeps it from working; empty = nothing.
  virtual std::string Problem() = 0;
  /// Registered. An error: it cannot work for this coordinator, and does not.
  virtual Status OnRegistered(const Registered& registered) = 0;
};

class LeaseKeeper {
 public:
  /// `address` is for messages.
  LeaseKeeper(CoordinatorClient& client, Registration registration, LeaseHolder& holder,
              std::string address);

  /// Until the worker is registered (OK), cannot be (why), or `stop` is requested (CANCELLED).
  Status AwaitRegistered(std::stop_token stop);

  /// The coordinator doesn't know this worker (NOT_FOUND).
  void RegisterAgain();

  /// Until the coordinator refuses this worker for good (why) or `stop` is requested (OK).
  Status Wait(std::stop_token stop);

  /// No more calls to the holder or the coordinator once it returns.
  void Stop();

 private:
  void Run(std::stop_token stop);
  void Register(const std::stop_token& stop);
  void Beat(const std::stop_token& stop);
  void Answered();
  void Speaks(const std::string& epoch);
  void Refused(const Status& status);
  void NotAnswered(const Status& status, const std::stop_token& stop);

  CoordinatorClient& client_;
  const Registration registration_;
  LeaseHolder& holder_;
  const std::string address_;

  // Its own thread's.
  Backoff backoff_;
  bool reachable_ = true;
  std::string epoch_;  // of the coordinator, when it was last heard
  Millis interval_{3000}, next_beat_{0};

  Mutex mutex_;
  Condition changed_;
  bool registered_ GYRE_GUARDED_BY(mutex_) = false;
  Status refused_ GYRE_GUARDED_BY(mutex_);
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace gyre
