#pragma once

// One case, side by side: every contestant in a process of its own, one sample each in turn, so
// that whatever drifts hits all alike. A sample is as many steps as last kSampleSeconds (what
// /proc/stat counts in ticks must see them), begins only on an idle machine and counts only if
// nobody disturbed it.

#include <string>
#include <vector>

#include "base/status.h"
#include "bench/bench_case.h"
#include "bench/contestant.h"

namespace gyre {

struct StepSample {
  double seconds = 0, processor = 0;  // of one step
  double causal = 0;                  // limit alone: with half the attention products
  double foreign = 0;                 // share of the machine that others used meanwhile
  bool quiet = false;
};

struct ContestantResult {
  std::string name;    // gyre | limit | pytorch
  std::string absent;  // why it did not take part, or empty
  Json about;
  std::vector<StepSample> samples;
  std::vector<double> starts;  // seconds from the start of the process to that of the first step
  std::vector<double> job_starts;  // gyre alone: job_start.h
  double first_step = 0;           // seconds
  double first_loss = 0, last_loss = 0;
  int64_t steps = 0, peak_memory = 0;
};

struct CaseResult {
  BenchCase bench_case;
  std::vector<ContestantResult> contestants;
  std::vector<std::string> faults;  // what must not be: other parameter counts, losses of no sense

  const ContestantResult* Find(const std::string& name) const;
};

struct ComparisonOptions {
  std::vector<std::string> names = {"gyre", "limit", "pytorch"};
  int samples = 9, starts = 3;
  bool jobs = true;  // start jobs, too
  double sample_seconds = 0.3;
  bool gate = true;
  double give_up_seconds = 300;  // of a case; then what is missing is measured on a loud machine
  std::string program;           // this one, to start it again
  std::vector<std::string> python = {"python3", "/usr/bin/python3"};  // the first that has torch
};

/// The error of a contestant that broke; one that is absent is a line in its result.
Result<CaseResult> Compare(const BenchCase& bench_case, const ComparisonOptions& options);

struct Spread {
  double low = 0, median = 0, high = 0;  // quartiles
  int count = 0;
  bool quiet = true;  // false: there was no quiet sample, and these are of the others
};

enum class StepTime { kSeconds, kProcessor, kCausal };
Spread SpreadOf(const std::vector<StepSample>& samples, StepTime time = StepTime::kSeconds);
/// Of the starts, which the gate cannot judge: they are too short.
Spread SpreadOf(std::vector<double> values);

}  // namespace gyre
