#pragma once

// A job as a person writes it, or takes it out of `gyre plan --format json`: {"config": {...},
// "seed": N}, and if wanted "key" and "datasets"; what a plan says beside that ("variant",
// "parameters", "memory", "frequencies", a key that is null) may stand there.

#include <filesystem>
#include <functional>
#include <string>

#include "base/status.h"
#include "trainer/config/job_config.h"

namespace gyre {

/// Data sets that the file doesn't name by hash are found or prepared. INVALID_ARGUMENT: what is
/// wrong with the file; else what PrepareDataset says.
Result<TrainerJob> ReadJobFile(const std::filesystem::path& file, const std::filesystem::path& home,
                               const std::function<void(const std::string&)>& progress);

}  // namespace gyre
