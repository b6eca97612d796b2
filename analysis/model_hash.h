#pragma once

// What identifies a pretrained model, wherever it lies.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/status.h"

namespace gyre {

/// SHA-256 over the names and bytes of what makes up a model: a file, or of a folder config.json
/// and its weights. Read in pieces. `on_bytes` hears how many bytes of how many are read.
/// NOT_FOUND, INTERNAL: the file at fault.
Result<std::string> HashOfModel(const std::filesystem::path& model,
                                const std::function<void(uint64_t done, uint64_t total)>& on_bytes);

}  // namespace gyre
