#pragma once

// How much memory a job will take, from its shapes alone: what the scheduler places by, what `gyre
// plan` shows, and what the trainer compares with the machine before it allocates anything. The
// model's own buffers are known to the byte; what the program itself and its threads take beside
// them was measured. tests/trainer/memory_estimate_test.cc holds it against runs. Pure.

#include <cstdint>
#include <string>

#include "base/status.h"
#include "trainer/config/job_config.h"

namespace gyre {

/// Bytes, at the peak.
struct MemoryEstimate {
  int64_t weights = 0, gradients = 0;
  int64_t optimizer = 0;    // AdamW's moments
  int64_t activations = 0;  // of a micro-batch
  int64_t evaluation = 0;   // of evaluate.contexts: a second model for forward passes alone
  int64_t program = 0;      // code, threads, workspace

  int64_t total() const {
    return weights + gradients + optimizer + activations + evaluation + program;
  }
};

/// Of a job that is trained on the CPU with `threads` threads. Shapes that no model has give no
/// sensible numbers, but no failure either.
MemoryEstimate EstimateMemory(const JobConfig& config, int threads);
/// Of a GPU's memory for a job that is trained on one, or on each of several.
MemoryEstimate EstimateDeviceMemory(const JobConfig& config);

/// "weights 1.2 GiB, gradients 1.2 GiB, optimizer 2.4 GiB, activations 9.3 GiB, program 0.1 GiB".
std::string DescribeParts(const MemoryEstimate& estimate);
/// "14.2 GiB"; below one "812 MiB".
std::string DescribeBytes(int64_t bytes);
/// What makes a job smaller, as the end of a sentence.
std::string HowToNeedLess();

/// RESOURCE_EXHAUSTED, with the numbers, if a job needs more than `where` ("this machine",
/// "cuda:0") has. `available` 0 = not known.
Status CheckMemory(const MemoryEstimate& estimate, int64_t available,
                   const std::string& where = "this machine");

}  // namespace gyre
