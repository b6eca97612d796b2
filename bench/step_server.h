#pragma once

// The side of the pipe of a process that takes part in the benchmark. It says {"ready": seconds of
// the monotonic clock, ...} when its first step could begin, then answers each line "N" with N
// steps and one line of JSON: {"seconds": by the clock, of all N steps, "processor": of all
// threads, ...}. The end of standard input ends it.

#include <functional>

#include "base/status.h"
#include "trainer/config/job_config.h"

namespace gyre {

/// Of the monotonic clock, which all processes of a machine share.
double WallSeconds();

/// Time that this process's threads computed: what other processes take away does not count.
double ProcessSeconds();

/// Does the n-th of a sample's steps, from 0; what it says beside the times, e.g. {"loss": 6.2}.
using StepFunction = std::function<Result<Json>(int step)>;

/// `about` goes along with "ready". The exit code of the process.
int ServeSteps(Json about, const StepFunction& step);

/// Answers {"absent": why} instead: there is nothing here to measure.
int ServeAbsence(const std::string& why);

}  // namespace gyre
