#pragma once

// The tensors of a Hugging Face folder: model.safetensors, or the shards among which
// model.safetensors.index.json divides them. Immutable.

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/config/job_config.h"
#include "trainer/pretrained/model_extras.h"
#include "trainer/pretrained/safetensors.h"

namespace gyre {

class TensorFiles {
 public:
  /// NOT_FOUND: neither file is there. DATA_LOSS, INVALID_ARGUMENT: the file at fault, and why.
  static Result<TensorFiles> Open(const std::filesystem::path& folder);

  /// Shard by shard, in their order of bytes.
  std::vector<TensorEntry> tensors() const;
  /// nullptr if there is none.
  const TensorEntry* Find(const std::string& name) const;
  /// As SafetensorsFile::Read(). NOT_FOUND: no such tensor.
  Status Read(const std::string& name, std::span<float> values) const;
  /// What faults of the whole are blamed on.
  const std::filesystem::path& path() const { return path_; }

 private:
  Status Add(SafetensorsFile file, const std::filesystem::path& path);

  std::filesystem::path path_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, size_t> file_of_;  // index into files_ by tensor
};

/// INVALID_ARGUMENT with the first tensor at fault, unless they are exactly those of the model. Old
/// files' buffers that follow from the configuration are passed over, and so is a tied head that
/// repeats the embedding. Takes no memory for the tensors of a model that does not fit.
Status CheckTensors(const TensorFiles& files, const ModelConfig& model, const ModelExtras& extras);

}  // namespace gyre
