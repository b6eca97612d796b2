#pragma once

// A pretrained model's tensors, a few rows at a time: nobody ever holds a whole matrix. Whatever is
// read is looked through for numbers that are none, so that a damaged model is named as such
// instead of giving empty results; and what was read does not stay in this process's memory.
// Thread-safe.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/pretrained/pretrained_folder.h"

namespace gyre {

class WeightRows {
 public:
  /// `folder` outlives the object.
  explicit WeightRows(const PretrainedFolder* folder) : files_(&folder->weights) {}

  /// Rows first .. first + rows - 1 of a tensor. DATA_LOSS: one of them has a NaN or an infinity;
  /// the message says where.
  Status Read(const std::string& name, int64_t first, int64_t rows, std::span<float> values) const;

  /// A whole vector of `count` numbers: a norm's weight, a bias. As Read().
  Result<std::vector<float>> Vector(const std::string& name, int64_t count) const;

 private:
  const TensorFiles* files_;
  mutable std::atomic<size_t> resident_{
      0};  // bytes that were read since pages were dropped, or more
};

}  // namespace gyre
