#pragma once

// An object's weights as a Hugging Face folder.

#include <filesystem>
#include <map>
#include <string>

#include "base/status.h"
#include "trainer/config/job_config.h"

namespace gyre {

/// Files by name with their content, beside model.safetensors: config.json, README.md, ...
using FolderFiles = std::map<std::string, std::string>;

/// Writes the folder, which must not be there yet, or be empty; whole, or not at all. The weights
/// are those of the object `hash` of `home`, in float32 under Hugging Face's names. NOT_FOUND,
/// DATA_LOSS: the object. FAILED_PRECONDITION: something is in the folder, or the object does not
/// have the model's tensors. RESOURCE_EXHAUSTED: the disk is full.
Status ExportFolder(const std::filesystem::path& home, const std::string& hash,
                    const ModelConfig& model, const FolderFiles& files,
                    const std::filesystem::path& folder);

}  // namespace gyre
