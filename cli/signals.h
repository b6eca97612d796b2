#pragma once

// SIGINT and SIGTERM as a stop request: the first asks for an orderly end, the second for one at
// once, the third ends the process where it stands. Make it before anything that starts threads:
// they inherit that the signals are blocked and leave them to the thread in here. One a process.

#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace gyre {

class StopSignals {
 public:
  StopSignals();
  ~StopSignals();

  /// Requested by the first signal.
  std::stop_token token() const { return stop_.get_token(); }
  /// Until the first signal.
  void Wait();
  /// The first signal; 0 = none yet.
  int signal() const { return signal_; }
  /// What the second signal does, from another thread; nothing by default.
  void OnSecond(std::function<void()> at_once);

 private:
  void Run();

  sigset_t waited_{}, before_{};
  std::stop_source stop_;
  std::atomic<int> signal_{0};
  std::atomic<bool> done_{false};
  std::mutex mutex_;
  std::condition_variable_any never_;
  std::function<void()> at_once_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace gyre
