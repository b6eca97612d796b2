#pragma once

// A folder with a pretrained model: config.json and its tensors under Hugging Face's names.

#include <filesystem>

#include "base/status.h"
#include "trainer/pretrained/hugging_face_config.h"
#include "trainer/pretrained/tensor_files.h"

namespace gyre {

struct PretrainedFolder {
  /// Reads config.json and the tensors' names; whether they fit each other, CheckTensors() says.
  /// NOT_FOUND, INVALID_ARGUMENT, DATA_LOSS: the file at fault, and why.
  static Result<PretrainedFolder> Open(const std::filesystem::path& folder);

  std::filesystem::path path;
  HuggingFaceConfig config;
  TensorFiles weights;
};

}  // namespace gyre
