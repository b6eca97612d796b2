#pragma once

// GGUF files of a test's own, byte by byte: whole ones, and any damage that a test wants.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

template <typename T>
std::string Bytes(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

class MadeGguf {
 public:
  static std::string String(std::string_view text) {
    return Bytes(uint64_t{text.size()}) + std::string(text);
  }

  /// `type` and `content` as the format has them.
  MadeGguf& Value(std::string_view key, uint32_t type, const std::string& content) {
    values_ += String(key) + Bytes(type) + content;
    ++value_count_;
    return *this;
  }
  MadeGguf& Count(std::string_view key, uint32_t count) { return Value(key, 4, Bytes(count)); }
  MadeGguf& Number(std::string_view key, float number) { return Value(key, 6, Bytes(number)); }
  MadeGguf& Text(std::string_view key, std::string_view text) {
    return Value(key, 8, String(text));
  }
  MadeGguf& Texts(std::string_view key, const std::vector<std::string>& texts) {
    std::string content = Bytes(uint32_t{8}) + Bytes(uint64_t{texts.size()});
    for (const std::string& text : texts) content += String(text);
    return Value(key, 9, content);
  }
  MadeGguf& Wholes(std::string_view key, const std::vector<int32_t>& numbers) {
    std::string content = Bytes(uint32_t{5}) + Bytes(uint64_t{numbers.size()});
    for (const int32_t number : numbers) content += Bytes(number);
    return Value(key, 9, content);
  }

  /// `sizes` with the fastest first, as in the file. The data is padded to 32 bytes.
  MadeGguf& Tensor(std::string_view name, const std::vector<uint64_t>& sizes, uint32_t type,
                   const std::string& data) {
    TensorAt(name, sizes, type, data_.size());
    data_ += data;
    data_.resize((data_.size() + 31) / 32 * 32);
    return *this;
  }
  /// One whose offset claims something.
  MadeGguf& TensorAt(std::string_view name, const std::vector<uint64_t>& sizes, uint32_t type,
                     uint64_t offset) {
    tensors_ += String(name) + Bytes(static_cast<uint32_t>(sizes.size()));
    for (const uint64_t size : sizes) tensors_ += Bytes(size);
    tensors_ += Bytes(type) + Bytes(offset);
    ++tensor_count_;
    return *this;
  }

  std::string File(uint32_t version = 3) const {
    std::string file =
        "GGUF" + Bytes(version) + Bytes(tensor_count_) + Bytes(value_count_) + values_ + tensors_;
    file.resize((file.size() + 31) / 32 * 32);
    return file + data_;
  }

 private:
  std::string values_, tensors_, data_;
  uint64_t value_count_ = 0, tensor_count_ = 0;
};

inline std::string FloatBytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

}  // namespace gyre
