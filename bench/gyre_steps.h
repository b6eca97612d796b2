#pragma once

// Gyre's own part: training steps through Model and a backend.

#include <map>
#include <memory>
#include <string>

#include "base/status.h"
#include "bench/bench_case.h"
#include "trainer/backend/backend.h"
#include "trainer/model/model.h"

namespace gyre {

/// A model on random tokens. One step: zero gradients, forward, backward, AdamW with clipping.
class GyreSteps {
 public:
  static Result<std::unique_ptr<GyreSteps>> Create(const BenchCase& bench_case, Backend* backend);
  /// The mean loss of the batch before the step.
  Result<double> Step();
  int64_t parameter_count() const { return parameter_count_; }

 private:
  std::unique_ptr<Model> model_;
  Batch batch_;
  int64_t parameter_count_ = 0, step_ = 0;
};

/// Takes part in the benchmark; the exit code.
int ServeGyreSteps(const BenchCase& bench_case);

/// Prints one step by part: the best of `steps`, each part's processor time.
Status PrintProfile(const BenchCase& bench_case, int steps);

}  // namespace gyre
