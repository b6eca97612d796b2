#pragma once

// What a job reads: its texts, the order of its batches, and its validation sets.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/config/job_config.h"
#include "trainer/data/batches.h"
#include "trainer/data/dataset.h"
#include "trainer/data/windows.h"

namespace gyre {

struct ValidationSet {
  std::string name;
  std::unique_ptr<Dataset> dataset;
  std::unique_ptr<Windows> windows;  // of data.context
};

struct JobData {
  std::vector<std::unique_ptr<Dataset>> texts;
  std::unique_ptr<Batches> batches;       // from the texts
  std::vector<ValidationSet> validation;  // by name
};

/// Reads no tokens. NOT_FOUND: a data set is not in `home`; DATA_LOSS: it is damaged;
/// INVALID_ARGUMENT: it does not go with the job.
Result<JobData> OpenJobData(const TrainerJob& job, const std::filesystem::path& home);

}  // namespace gyre
