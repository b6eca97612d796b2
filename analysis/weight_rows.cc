#include "analysis/weight_rows.h"

#include <algorithm>

namespace gyre {
namespace {

// However little is read of a file, the system brings some pages around it.
constexpr size_t kAround = size_t{64} << 10;
constexpr size_t kMostResident = size_t{128} << 20;

}  // namespace

Status WeightRows::Read(const std::string& name, int64_t first, int64_t rows,
                        std::span<float> values) const {
  GYRE_RETURN_IF_ERROR(files_->ReadRows(name, first, rows, values));
  const size_t bytes = std::max(values.size_bytes(), kAround);
  if (resident_.fetch_add(bytes) + bytes > kMostResident) {
    resident_ = 0;
    files_->DropPages();
  }
  return CheckFinite(*files_->Find(name), first, values).WithContext(files_->path().string());
}

Result<std::vector<float>> WeightRows::Vector(const std::string& name, int64_t count) const {
  std::vector<float> values(static_cast<size_t>(count));
  GYRE_RETURN_IF_ERROR(Read(name, 0, count, values));
  return values;
}

}  // namespace gyre
