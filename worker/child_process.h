#pragma once

// One child process in its own process group, with a socket on its stdin and pipes on its fd 3 (or
// its stdout) and its stderr. It inherits nothing else: no descriptor of the worker (a port, a
// database, another child's pipes), no blocked or ignored signal.
//
// The child's side of the bargain: it exits at end of file on stdin, and asks for PR_SET_PDEATHSIG,
// which follows the thread that called Spawn. Spawn from a thread that lives as long as the child
// may.
//
// Threads: Write, Kill and CloseInput from any; Wait and the descriptors from one.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"

namespace gyre {

struct ChildOptions {
  std::filesystem::path program;
  std::vector<std::string> arguments;              // without the program's name
  std::map<std::string, std::string> environment;  // beside the worker's own, over it
  int output_fd = 3;  // of the child, that output() reads; 1: what it prints
};

/// How a child ended: by exit(code), or by a signal.
struct ChildEnd {
  int code = 0;
  int signal = 0;                 // 0 = it exited
  bool overdue = false;           // it did not end within the grace it had, and was killed for that
  int64_t peak_memory_bytes = 0;  // the most that it ever held
};

class ChildProcess {
 public:
  /// NOT_FOUND: no such program; else what the system says.
  static Result<std::unique_ptr<ChildProcess>> Spawn(const ChildOptions& options);
  /// Kills the group if it has not been waited for.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  int pid() const { return pid_; }
  int output() const { return output_; }        // reading end of its output_fd
  int errors() const { return errors_; }        // reading end of its stderr
  int exit_signal() const { return exit_fd_; }  // readable when it has ended

  /// The whole text within `timeout`, or an error, after which the child sees end of file: half a
  /// command is none.
  Status Write(std::string_view text, Millis timeout);
  /// End of file on its stdin.
  void CloseInput();
  /// SIGKILL to the group. Nothing once Wait has returned.
  void Kill();
  /// Kills every process that the child has started, directly or not, and returns when none of them
  /// runs any more; the child itself goes on.
  void EndOffspring();
  /// Waits up to `grace` for the child to end, then kills; kills what it has left behind in any
  /// case; returns when none of it runs any more. Call once.
  ChildEnd Wait(Millis grace);

 private:
  ChildProcess(std::string mark, int pid, int exit_fd, int input, int output, int errors);

  const std::string mark_;  // in the environment of all that it starts
  const int pid_, exit_fd_, output_, errors_;
  Mutex input_mutex_;
  int input_ GYRE_GUARDED_BY(input_mutex_);  // -1 = closed
  Mutex pid_mutex_;
  bool reaped_ GYRE_GUARDED_BY(pid_mutex_) = false;  // the pid is no longer ours to kill
};

}  // namespace gyre
