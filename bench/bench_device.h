#pragma once

// The GPU that is measured, and what its maker says that it can do at most.

#include <cstdint>
#include <string>

#include "base/status.h"

namespace gyre {

struct BenchDevice {
  std::string name;  // "NVIDIA H200"
  std::string libraries;
  int64_t free_bytes = 0;
};

/// Of "cuda" or "cuda:N". UNAVAILABLE: there is none, and why.
Result<BenchDevice> LookAtDevice(const std::string& backend);

/// Dense matrix products, floating-point operations a second, by the data sheets; 0 for a device or
/// a precision that is not among them.
double PeakOfDevice(const std::string& name, const std::string& precision);

}  // namespace gyre
