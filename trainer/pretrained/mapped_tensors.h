#pragma once

// The tensors of one mapped file, whatever its format: names, shapes, types and where their bytes
// are. What a reader of a format puts in here lies within the file; then nothing that is read can
// lie outside of it. Immutable once it is filled.

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "trainer/pretrained/tensor_values.h"

namespace gyre {

class MappedTensors {
 public:
  MappedTensors() = default;
  /// The data part begins `data_at` bytes into the file, which must have as many.
  MappedTensors(MappedFile file, size_t data_at) : file_(std::move(file)), data_at_(data_at) {}

  /// DATA_LOSS: it lies outside the file, its bytes do not fit its shape, or its name is taken.
  Status Add(TensorEntry tensor);

  /// Lets `change` rename each tensor or say what is added to its values; those for which it
  /// returns false are left out. As Add().
  Status Change(const std::function<bool(TensorEntry*)>& change);

  /// In the order in which they were added.
  const std::vector<TensorEntry>& tensors() const { return tensors_; }
  /// nullptr if there is none.
  const TensorEntry* Find(const std::string& name) const;
  /// Values first .. first + values.size(). INVALID_ARGUMENT: there are not so many, or they are of
  /// a type that cannot be read as numbers.
  Status Read(const TensorEntry& tensor, int64_t first, std::span<float> values) const;
  /// What was read need not stay in this process's memory: it is read again where it is wanted.
  void DropPages() const;
  /// The whole file.
  std::string_view bytes() const { return file_.bytes(); }
  size_t data_bytes() const { return bytes().size() - data_at_; }

 private:
  MappedFile file_;
  size_t data_at_ = 0;
  std::vector<TensorEntry> tensors_;
  std::map<std::string, size_t> by_name_;
};

}  // namespace gyre
