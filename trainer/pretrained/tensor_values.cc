#include "trainer/pretrained/tensor_values.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace gyre {
namespace {

static_assert(std::endian::native == std::endian::little,
              "tensors are read and written as they lie");

constexpr int64_t kBlock = 32;  // values of a quantized block

using Block = std::array<float, kBlock>;

float HalfToFloat(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16;
  const uint32_t exponent = (half >> 10) & 31u, mantissa = half & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

template <typename T>
T Load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// ggml's layouts: the low halves of the bytes are the first 16 values, the high halves the others.
template <typename ToValue>
void ReadNibbles(const char* from, const ToValue& to_value, Block* block) {
  for (size_t i = 0; i < kBlock / 2; ++i) {
    const auto byte = static_cast<unsigned char>(from[i]);
    (*block)[i] = to_value(byte & 15);
    (*block)[i + kBlock / 2] = to_value(byte >> 4);
  }
}

void ReadQ4_0(const char* from, Block* block) {
  const float scale = HalfToFloat(Load<uint16_t>(from));
  ReadNibbles(
      from + 2, [scale](int q) { return static_cast<float>(q - 8) * scale; }, block);
}

void ReadQ4_1(const char* from, Block* block) {
  const float scale = HalfToFloat(Load<uint16_t>(from));
  const float least = HalfToFloat(Load<uint16_t>(from + 2));
  ReadNibbles(
      from + 4, [=](int q) { return static_cast<float>(q) * scale + least; }, block);
}

void ReadQ8_0(const char* from, Block* block) {
  const float scale = HalfToFloat(Load<uint16_t>(from));
  for (size_t i = 0; i < kBlock; ++i) {
    (*block)[i] = static_cast<float>(Load<int8_t>(from + 2 + i)) * scale;
  }
}

struct Type {
  std::string_view name;
  int64_t values, bytes;                   // of one block, or of one value
  void (*read)(const char*, Block*) = {};  // of a block
};

constexpr Type kTypes[] = {{"F32", 1, 4},
                           {"F16", 1, 2},
                           {"BF16", 1, 2},
                           {"Q8_0", kBlock, 34, ReadQ8_0},
                           {"Q4_0", kBlock, 18, ReadQ4_0},
                           {"Q4_1", kBlock, 20, ReadQ4_1}};

const Type* FindType(std::string_view name) {
  for (const Type& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

void ReadBlocks(const Type& type, const char* from, int64_t first, std::span<float> values) {
  Block block;
  size_t done = 0;
  while (done < values.size()) {
    const int64_t at = first + static_cast<int64_t>(done), skip = at % kBlock;
    type.read(from + at / kBlock * type.bytes, &block);
    const size_t count = std::min(values.size() - done, static_cast<size_t>(kBlock - skip));
    std::copy_n(block.begin() + skip, count, values.begin() + static_cast<int64_t>(done));
    done += count;
  }
}

}  // namespace

int64_t ValueCount(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) return -1;
  }
  return count;
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

std::string ReadableTypes() {
  std::string names;
  for (const Type& type : kTypes) names += (names.empty() ? "" : ", ") + std::string(type.name);
  return names;
}

int64_t BytesOfValues(std::string_view dtype, int64_t count) {
  const Type* type = FindType(dtype);
  if (type == nullptr || count < 0 || count % type->values != 0) return -1;
  int64_t bytes = 0;
  return __builtin_mul_overflow(count / type->values, type->bytes, &bytes) ? -1 : bytes;
}

Status CheckReadable(const TensorEntry& entry) {
  if (BytesOfValues(entry.dtype, 0) >= 0) return OkStatus();
  return InvalidArgument("tensor " + entry.name + " has the type " + entry.dtype + "; " +
                         ReadableTypes() + " can be read as numbers");
}

void ReadValues(std::string_view dtype, const char* from, int64_t first, std::span<float> values) {
  if (values.empty()) return;
  const Type& type = *FindType(dtype);
  if (type.read != nullptr) return ReadBlocks(type, from, first, values);
  from += first * type.bytes;
  if (type.name == "F32") {
    std::memcpy(values.data(), from, values.size_bytes());
    return;
  }
  const bool half = type.name == "F16";
  for (size_t i = 0; i < values.size(); ++i) {
    const auto bits = Load<uint16_t>(from + 2 * i);
    values[i] = half ? HalfToFloat(bits) : std::bit_cast<float>(uint32_t{bits} << 16);
  }
}

Status CheckFinite(const TensorEntry& entry, int64_t first_row, std::span<const float> values) {
  const auto bad =
      std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
  if (bad == values.end()) return OkStatus();
  const int64_t rows = entry.shape.empty() ? 1 : entry.shape[0];
  const int64_t columns =
      std::max<int64_t>(ValueCount(entry.shape) / std::max<int64_t>(rows, 1), 1);
  const int64_t at = bad - values.begin();
  return DataLoss("tensor " + entry.name + " has a value that is " +
                  (std::isnan(*bad) ? "no number (NaN)" : "infinite") + " in row " +
                  std::to_string(first_row + at / columns) + ", column " +
                  std::to_string(at % columns));
}

}  // namespace gyre
