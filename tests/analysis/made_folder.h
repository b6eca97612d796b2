#pragma once

// A pretrained model of random weights, written as a Hugging Face folder.

#include <filesystem>
#include <string>

#include "tests/analysis/plain_decoder.h"
#include "trainer/config/job_config.h"

namespace gyre {

/// `config` is that of config.json. Returns the weights as they stand in the file.
PlainWeights MakeFolder(const std::filesystem::path& folder, const Json& config);

}  // namespace gyre
