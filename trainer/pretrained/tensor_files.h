#pragma once

// The tensors of a model, in one file or several, from mappings: what is not read takes no memory.
// Of a Hugging Face folder they are model.safetensors, or the shards among which
// model.safetensors.index.json divides them; of a model that also sees images, the decoder's alone.
// Immutable.

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/config/job_config.h"
#include "trainer/pretrained/mapped_tensors.h"
#include "trainer/pretrained/model_extras.h"

namespace gyre {

class TensorFiles {
 public:
  /// NOT_FOUND: neither file is there. DATA_LOSS, INVALID_ARGUMENT: the file at fault, and why.
  static Result<TensorFiles> Open(const std::filesystem::path& folder);

  /// Those of one file. `path` is what faults are blamed on.
  static Result<TensorFiles> Of(const std::filesystem::path& path, MappedTensors tensors);

  /// Shard by shard, in their order of bytes.
  std::vector<TensorEntry> tensors() const;
  /// nullptr if there is none.
  const TensorEntry* Find(const std::string& name) const;
  /// All values as float32, of F32, F16, BF16 or ggml's blocks. `values` has as many places as the
  /// tensor. NOT_FOUND: no such tensor. INVALID_ARGUMENT: another count, or a type that cannot be
  /// read. Values that are no numbers are not looked for: CheckFinite() does.
  Status Read(const std::string& name, std::span<float> values) const;
  /// `rows` rows from `first_row` on; a row is what one place in the first dimension has.
  Status ReadRows(const std::string& name, int64_t first_row, int64_t rows,
                  std::span<float> values) const;
  /// As MappedTensors::DropPages().
  void DropPages() const;
  /// What faults of the whole are blamed on.
  const std::filesystem::path& path() const { return path_; }

 private:
  Status Add(MappedTensors file, const std::filesystem::path& path);

  std::filesystem::path path_;
  std::vector<MappedTensors> files_;
  std::map<std::string, size_t> file_of_;  // index into files_ by tensor
};

/// INVALID_ARGUMENT with the first tensor at fault, unless they are exactly those of the model. Old
/// files' buffers that follow from the configuration are passed over, and so is a tied head that
/// repeats the embedding. Takes no memory for the tensors of a model that does not fit.
Status CheckTensors(const TensorFiles& files, const ModelConfig& model, const ModelExtras& extras);

}  // namespace gyre
