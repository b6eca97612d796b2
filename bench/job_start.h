#pragma once

// How long a whole job takes to begin: from the start of `gyre-trainer train JOB` to the start of
// its first step, the job read, its data sets opened, the model made, and one window evaluated, as
// jobs do before they train. The data sets are there, as a worker's trainer finds them.

#include <memory>
#include <string>

#include "base/scratch_folder.h"
#include "base/status.h"
#include "bench/bench_case.h"

namespace gyre {

class JobStart {
 public:
  /// Writes a job of this case and prepares its data sets. UNAVAILABLE: there is no such program.
  static Result<JobStart> Create(const BenchCase& bench_case, const std::string& trainer);
  Result<double> Seconds() const;

 private:
  JobStart(ScratchFolder home, const BenchCase& bench_case, std::string trainer)
      : home_(std::move(home)), threads_(bench_case.threads), trainer_(std::move(trainer)) {}

  ScratchFolder home_;
  int threads_;
  std::string trainer_;
};

}  // namespace gyre
