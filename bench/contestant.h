#pragma once

// One who takes part in the benchmark: a process of its own that speaks as step_server.h says, and
// waits without computing while others have their turn.

#include <memory>
#include <string>

#include "base/status.h"
#include "bench/piped_process.h"
#include "trainer/config/job_config.h"

namespace gyre {

class Contestant {
 public:
  /// Returns when it could do its first step. UNAVAILABLE: it says that it is absent here, and why.
  static Result<std::unique_ptr<Contestant>> Start(const ProcessCommand& command);

  /// What it said of itself.
  const Json& about() const { return about_; }
  /// From the start of its process to the start of its first step.
  double start_seconds() const { return start_seconds_; }
  /// Its answer to `count` steps.
  Result<Json> Steps(int count);
  int64_t PeakMemory() const { return process_->PeakMemory(); }

 private:
  Result<Json> ReadAnswer();

  std::unique_ptr<PipedProcess> process_;
  Json about_;
  double start_seconds_ = 0;
};

/// A number of a contestant's answer; 0 if it is none.
double NumberIn(const Json& answer, const std::string& key);

}  // namespace gyre
