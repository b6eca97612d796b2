#include "cli/signals.h"

#include <pthread.h>
#include <unistd.h>

#include <utility>

namespace gyre {

StopSignals::StopSignals() {
  sigemptyset(&waited_);
  sigaddset(&waited_, SIGINT);
  sigaddset(&waited_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &waited_, &before_);
  thread_ = std::thread([this] { Run(); });
}

StopSignals::~StopSignals() {
  done_ = true;
  pthread_kill(thread_.native_handle(), SIGTERM);
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void StopSignals::Wait() {
  std::unique_lock lock(mutex_);
  never_.wait(lock, token(), [] { return false; });
}

void StopSignals::OnSecond(std::function<void()> at_once) {
  const std::lock_guard lock(mutex_);
  at_once_ = std::move(at_once);
}

void StopSignals::Run() {
  for (int count = 1;; ++count) {
    int signal = 0;
    sigwait(&waited_, &signal);
    if (done_) return;
    if (count == 1) {
      signal_ = signal;
      stop_.request_stop();
    } else if (count == 2) {
      const std::lock_guard lock(mutex_);
      if (at_once_) at_once_();
    } else {
      _exit(128 + signal);
    }
  }
}

}  // namespace gyre
