#pragma once

// A pretrained model: a Hugging Face folder (config.json, safetensors), or one file: GGUF, or
// llama2.c's .bin. Whichever it is, tensors have Hugging Face's names, and the configuration says
// what they mean (model_file.h on pairs).

#include <filesystem>

#include "base/status.h"
#include "trainer/pretrained/hugging_face_config.h"
#include "trainer/pretrained/tensor_files.h"

namespace gyre {

struct PretrainedFolder {
  /// Reads the configuration and the tensors' names; whether they fit each other, CheckTensors()
  /// says. `path` is a folder or a file. NOT_FOUND, INVALID_ARGUMENT, DATA_LOSS: the file at fault,
  /// and why.
  static Result<PretrainedFolder> Open(const std::filesystem::path& path);

  std::filesystem::path path;
  std::filesystem::path config_path;  // the file that has the configuration
  HuggingFaceConfig config;
  TensorFiles weights;
};

}  // namespace gyre
