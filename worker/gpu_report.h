#pragma once

// The GPUs of this machine, as `gyre-trainer devices` reports them: a process of its own asks the
// driver, so that this one never loads CUDA, and a driver that hangs is somebody else's problem.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace gyre {

struct GpuInfo {
  std::string name;   // "cuda:0"
  std::string model;  // "NVIDIA H200"
  std::string compute_capability;
  int64_t memory_bytes = 0, free_bytes = 0;  // 0 = not known
  std::string unusable;                      // why nothing can be trained on it; empty = it can
};

struct GpuReport {
  std::vector<GpuInfo> gpus;
  std::string absent;           // why there are none, for people
  bool answered = true;         // false: why stands in `absent`, and there may be some
  std::string driver, runtime;  // CUDA's versions, "13.0"; empty = there is none
  std::string libraries;
};

/// What the command prints. INVALID_ARGUMENT says what is wrong with it.
Result<GpuReport> ParseGpuReport(std::string_view json);

/// Runs `trainer devices`, for at most `limit`; it is then left behind.
GpuReport AskForGpus(const std::filesystem::path& trainer, Millis limit);

/// The first start of a driver that nobody uses yet takes some seconds a GPU.
inline constexpr Millis kGpuReportLimit{30000};

}  // namespace gyre
