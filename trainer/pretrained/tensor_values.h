#pragma once

// Values of a tensor as they lie in a file, as float32: plain floating point numbers, and ggml's
// blocks of 32 values with a common scale. A tensor's values follow each other row by row, and
// blocks do not care where a row begins.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace gyre {

struct TensorEntry {
  std::string name;
  std::vector<int64_t> shape;
  std::string dtype = "F32";       // those that Read() takes, and others that only travel
  uint64_t offset = 0, bytes = 0;  // within the data part of the file
  float added = 0;                 // to every value when it is read
};

/// Number of values of a shape; negative if a dimension is negative or the product overflows.
int64_t ValueCount(const std::vector<int64_t>& shape);

/// "[3, 4]".
std::string ShapeText(const std::vector<int64_t>& shape);

/// "F32, F16, ...": what can be read as numbers.
std::string ReadableTypes();

/// How many bytes so many values take; negative: not a type that can be read, or the count is not
/// whole blocks of it, or too large.
int64_t BytesOfValues(std::string_view dtype, int64_t count);

/// INVALID_ARGUMENT: it is of another type.
Status CheckReadable(const TensorEntry& entry);

/// Values first .. first + values.size() of those that lie at `from`. The type is one that can be
/// read, and the caller knows that there are as many.
void ReadValues(std::string_view dtype, const char* from, int64_t first, std::span<float> values);

/// DATA_LOSS with the place of the first value of these rows that is no finite number. `entry` is
/// theirs, and their first is row `first_row` of it.
Status CheckFinite(const TensorEntry& entry, int64_t first_row, std::span<const float> values);

}  // namespace gyre
