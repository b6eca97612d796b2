#include "analysis/weight_rows.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace gyre {
namespace {

// Whether all are finite; in integers, which compilers do several at a time.
bool AllFinite(std::span<const float> values) {
  constexpr uint32_t kExponent = 0x7f800000;
  uint32_t found = 0;
  for (const float value : values) {
    found |= static_cast<uint32_t>((std::bit_cast<uint32_t>(value) & kExponent) == kExponent);
  }
  return found == 0;
}

}  // namespace

Status WeightRows::Read(const std::string& name, int64_t first, int64_t rows,
                        std::span<float> values) const {
  std::shared_ptr<const std::vector<float>> all;
  {
    const std::lock_guard lock(mutex_);
    if (name_ != name) {
      const TensorEntry* entry = files_->Find(name);
      if (entry == nullptr) return NotFound("there is no tensor " + name);
      std::vector<float> read(static_cast<size_t>(ValueCount(entry->shape)));
      GYRE_RETURN_IF_ERROR(files_->Read(name, read));
      name_ = name;
      values_ = std::make_shared<const std::vector<float>>(std::move(read));
    }
    all = values_;
  }
  const auto at = static_cast<std::ptrdiff_t>(values.size()) / rows * first;
  std::copy_n(all->begin() + at, values.size(), values.begin());
  if (AllFinite(values)) return OkStatus();
  const size_t width = values.size() / static_cast<size_t>(rows);
  size_t row = 0;
  while (AllFinite(values.subspan(row * width, width))) ++row;
  return DataLoss("the tensor " + name + " has a NaN or an infinity" +
                  (rows == 1 && first == 0 ? std::string()
                                           : " in row " + std::to_string(first + int64_t(row))) +
                  " (" + files_->path().string() + "); the model is damaged or has diverged");
}

Result<std::vector<float>> WeightRows::Vector(const std::string& name, int64_t count) const {
  std::vector<float> values(static_cast<size_t>(count));
  GYRE_RETURN_IF_ERROR(Read(name, 0, 1, values));
  return values;
}

}  // namespace gyre
