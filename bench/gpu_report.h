#pragma once

// What the benchmark found on a GPU. MFU is BenchCase::FlopsPerToken() times tokens a second, over
// PeakOfDevice(); device memory is what a contestant's process took of the device for the model and
// its steps, without what the driver takes for each process.

#include <string>
#include <vector>

#include "bench/comparison.h"

namespace gyre {

/// A block of lines about one case.
std::string GpuCaseText(const CaseResult& result);

/// A row a case.
std::string GpuTable(const std::vector<CaseResult>& results);

}  // namespace gyre
