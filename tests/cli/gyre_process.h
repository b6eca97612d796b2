#pragma once

// The built `gyre` as a child process, its words caught.

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.h"

namespace gyre {

struct GyreOptions {
  std::filesystem::path folder;  // where it starts; empty = a fresh temporary one
  /// "NAME=value", beside PATH, HOME and the test's own GYRE_HOME.
  std::vector<std::string> environment = {};
  std::filesystem::path program = {};  // empty = the built gyre
};

class GyreProcess {
 public:
  explicit GyreProcess(const std::vector<std::string>& arguments, const GyreOptions& options = {});
  /// Kills it if it still runs.
  ~GyreProcess();
  GyreProcess(const GyreProcess&) = delete;
  GyreProcess& operator=(const GyreProcess&) = delete;

  void Signal(int signal);
  /// Its exit code, 128 + n after signal n; -1 and a test failure if it still runs after
  /// `deadline`.
  int Wait(Millis deadline = Millis(20000));
  /// True once `text` stands in what it has written to stderr; false if it ended or `deadline`
  /// passed before.
  bool WaitForError(const std::string& text, Millis deadline);

  std::string output() const;
  std::string error() const;

 private:
  std::filesystem::path scratch_;
  pid_t pid_ = -1;
  int pid_fd_ = -1;
  int exit_code_ = -1;
};

struct GyreResult {
  int exit_code = -1;
  std::string output, error;
};

/// Runs to the end.
GyreResult RunGyre(const std::vector<std::string>& arguments, const GyreOptions& options = {});

}  // namespace gyre
