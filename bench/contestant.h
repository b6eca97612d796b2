#pragma once

// One who takes part in the benchmark: a process of its own behind two pipes (step_server.h), which
// waits without computing while others have their turn. Ends when this object does.

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/config/job_config.h"

namespace gyre {

struct ContestantCommand {
  std::vector<std::string> words;
  /// Set beside what this process has; an empty value takes the name away.
  std::map<std::string, std::string> environment;
};

class Contestant {
 public:
  /// Returns when it could do its first step. UNAVAILABLE: it says that it is absent here, and why.
  static Result<std::unique_ptr<Contestant>> Start(const ContestantCommand& command);
  ~Contestant();
  Contestant(const Contestant&) = delete;
  Contestant& operator=(const Contestant&) = delete;

  /// What it said of itself.
  const Json& about() const { return about_; }
  /// From the start of its process to the start of its first step.
  double start_seconds() const { return start_seconds_; }
  /// Its answer to `count` steps.
  Result<Json> Steps(int count);
  /// The most memory that it has held, in bytes; 0 if the system does not say.
  int64_t PeakMemory() const;

 private:
  Contestant() = default;
  Status Spawn(const ContestantCommand& command);
  Result<Json> ReadAnswer();

  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
  std::string name_, unread_;
  Json about_;
  double start_seconds_ = 0;
};

/// A number of a contestant's answer; 0 if it is none.
double NumberIn(const Json& answer, const std::string& key);

}  // namespace gyre
