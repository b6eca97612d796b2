#pragma once

// Objects: safetensors files named by the SHA-256 of their bytes, GYRE_HOME/objects/HASH. Those
// that training writes are described in trainer/checkpoint.h; here are the weights of a pretrained
// folder as such an object (train.init_from), and weights out of any of them.

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "base/status.h"
#include "trainer/pretrained/pretrained_folder.h"
#include "trainer/pretrained/safetensors.h"

namespace gyre {

/// The metadata "format" of every object.
inline constexpr char kObjectFormat[] = "gyre checkpoint 1";

using WriteObject =
    std::function<Result<SafetensorsWriter::Written>(const std::filesystem::path& temporary)>;

/// Lets `write` make a file and gives it its name. Whole and on disk when it returns, or not there
/// at all. RESOURCE_EXHAUSTED: the disk is full (names the folder).
Result<SafetensorsWriter::Written> KeepObject(const std::filesystem::path& home,
                                              const WriteObject& write);

/// NOT_FOUND: no such object. INVALID_ARGUMENT: `hash` is none. DATA_LOSS: its content is not what
/// its name says, or no tensors.
Result<SafetensorsFile> OpenObject(const std::filesystem::path& home, const std::string& hash);

/// The folder's weights in float32, as one object: the same weights have the same hash.
/// INVALID_ARGUMENT: the tensors are not those of config.json, or the trainer has no form of the
/// model (CheckTrainable). DATA_LOSS: a weight is no finite number.
Result<SafetensorsWriter::Written> KeepWeights(const std::filesystem::path& home,
                                               const PretrainedFolder& folder);

}  // namespace gyre
