#pragma once

// What `gyre export --format huggingface` writes beside the weights.

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "results/job_weights.h"
#include "trainer/config/job_config.h"
#include "trainer/pretrained/export_folder.h"

namespace gyre {

struct ExportedModel {
  ModelConfig config;
  FolderFiles files;  // config.json, README.md, and tokenizer.model where the data set has one
  std::vector<std::string> not_in_transformers, notes;  // of ExportConfig()
};

/// `home` may have the job's data sets; what it lacks of them is left out. INVALID_ARGUMENT: the
/// job's configuration is of a newer version.
Result<ExportedModel> DescribeModel(const JobWeights& job, const AskSql& ask,
                                    const std::filesystem::path& home);

}  // namespace gyre
