#pragma once

// A folder with a pretrained model: config.json and model.safetensors under Hugging Face's names.

#include <filesystem>
#include <memory>

#include "base/status.h"
#include "trainer/hugging_face_config.h"
#include "trainer/model/model.h"
#include "trainer/safetensors.h"

namespace gyre {

struct ModelFolder {
  /// NOT_FOUND, INVALID_ARGUMENT, DATA_LOSS: the file at fault, and why.
  static Result<ModelFolder> Open(const std::filesystem::path& folder);

  /// A model with these weights, its positions resolved for rows of `length` tokens.
  /// INVALID_ARGUMENT if the tensors aren't exactly those of the configuration.
  Result<std::unique_ptr<Model>> CreateModel(Backend* backend, int rows, int length,
                                             bool training) const;

  std::filesystem::path path;
  HuggingFaceConfig config;
  SafetensorsFile weights;
};

}  // namespace gyre
