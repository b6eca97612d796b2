#pragma once

// Carries what a trainer writes to its log to the coordinator, beside everything else: on a thread
// of its own, so that neither points nor heartbeats ever wait for it. Memory is bounded, and so is
// the rate: of what comes faster than it is sent, the oldest is left out, and the offsets say so. A
// coordinator that is away gets the rest when it is back.
//
// Threads: Append and Finish from one at a time; the sending is its own.

#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "base/mutex.h"
#include "worker/coordinator_client.h"

namespace gyre {

struct LogSenderOptions {
  size_t max_waiting = size_t{256} << 10;
  size_t chunk = size_t{64} << 10;
  Millis pause{250};  // between chunks, so that many short lines share one
};

class LogSender {
 public:
  LogSender(AttemptId attempt, CoordinatorClient& client, LogSenderOptions options = {});
  /// Drops what has not been sent.
  ~LogSender();

  /// Never waits. Nothing after Finish.
  void Append(std::string_view bytes);

  /// No more comes: sends what is left without pauses. True when all of it has arrived within
  /// `patience`; it may be asked again.
  bool Finish(Millis patience);

 private:
  void Run(const std::stop_token& stop);

  const AttemptId attempt_;
  CoordinatorClient& client_;
  const LogSenderOptions options_;

  Mutex mutex_;
  Condition changed_;
  std::string waiting_ GYRE_GUARDED_BY(mutex_);
  int64_t offset_ GYRE_GUARDED_BY(mutex_) = 0;  // of waiting_'s first byte
  bool finishing_ GYRE_GUARDED_BY(mutex_) = false;
  bool refused_ GYRE_GUARDED_BY(mutex_) = false;  // it is not wanted: nothing more is kept
  std::jthread thread_;                           // last: it uses all of the above
};

}  // namespace gyre
