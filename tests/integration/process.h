#pragma once

// Real processes for tests: start, SIGKILL, wait, find children. Whatever still runs when the test
// ends is killed.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"

namespace gyre {

class Process {
 public:
  /// Starts it, with stdout and stderr appended to `log`. Aborts the test program if it cannot.
  Process(std::vector<std::string> command, const std::map<std::string, std::string>& environment,
          const std::string& log);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  int pid() const { return pid_; }
  bool Running() const;
  /// SIGKILL, and waits until it is gone.
  void Kill();
  void Signal(int signal);
  /// The exit code, 128 + signal, or -1 if it has not ended within `timeout`.
  int Wait(Millis timeout);

 private:
  int pid_ = -1, exit_fd_ = -1;
};

/// The processes whose parent is `parent`.
std::vector<int> ChildrenOf(int parent);

/// Whether it runs; one that is dead and not waited for yet does not.
bool Runs(int pid);

/// SIGKILL to a process that need not be a child; waits until it is gone.
void KillProcess(int pid);

/// Looks every few milliseconds whether `condition` holds, since nothing tells when another process
/// has changed something. False if it does not within `timeout`.
bool Await(const std::function<bool()>& condition, Millis timeout);

/// A port of 127.0.0.1 that is free now.
int FreePort();

}  // namespace gyre
