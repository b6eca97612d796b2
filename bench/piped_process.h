#pragma once

// A child process behind two pipes, one for its standard input and one for its output, line by
// line. It is killed when this object ends.

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace gyre {

struct ProcessCommand {
  std::vector<std::string> words;
  /// Set beside what this process has; an empty value takes the name away.
  std::map<std::string, std::string> environment;
};

class PipedProcess {
 public:
  /// UNAVAILABLE: there is no such program.
  static Result<std::unique_ptr<PipedProcess>> Start(const ProcessCommand& command);
  ~PipedProcess();
  PipedProcess(const PipedProcess&) = delete;
  PipedProcess& operator=(const PipedProcess&) = delete;

  Status WriteLine(const std::string& line);
  /// Without its end. INTERNAL: the process has ended; DEADLINE_EXCEEDED: it says nothing.
  Result<std::string> ReadLine();
  /// The most memory that it has held, in bytes; 0 if the system does not say.
  int64_t PeakMemory() const;

 private:
  PipedProcess() = default;

  std::string name_, unread_;
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
};

}  // namespace gyre
