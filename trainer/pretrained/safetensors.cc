#include "trainer/pretrained/safetensors.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

namespace gyre {
namespace {

static_assert(std::endian::native == std::endian::little,
              "tensors are read and written as they lie");

using Json = nlohmann::ordered_json;

constexpr uint64_t kMaxHeaderBytes = 100'000'000;

int64_t ValueBytes(const std::string& dtype) {
  static const std::map<std::string, int64_t> kBytes = {
      {"F64", 8}, {"I64", 8}, {"U64", 8},  {"F32", 4},     {"I32", 4},
      {"U32", 4}, {"F16", 2}, {"BF16", 2}, {"I16", 2},     {"U16", 2},
      {"I8", 1},  {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};
  const auto found = kBytes.find(dtype);
  return found == kBytes.end() ? 0 : found->second;
}

// One entry of the header. Throws Json::exception on a wrong type.
Result<TensorEntry> ParseEntry(const std::string& name, const Json& json, uint64_t data_bytes) {
  TensorEntry tensor;
  tensor.name = name;
  json.at("dtype").get_to(tensor.dtype);
  json.at("shape").get_to(tensor.shape);
  const auto offsets = json.at("data_offsets").get<std::vector<uint64_t>>();
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_bytes) {
    return DataLoss("tensor " + name + " lies outside the file");
  }
  tensor.offset = offsets[0];
  tensor.bytes = offsets[1] - offsets[0];
  const int64_t count = ValueCount(tensor.shape), value_bytes = ValueBytes(tensor.dtype);
  if (value_bytes == 0) return DataLoss("tensor " + name + " has the unknown type " + tensor.dtype);
  if (count < 0 || tensor.bytes % static_cast<uint64_t>(value_bytes) != 0 ||
      tensor.bytes / static_cast<uint64_t>(value_bytes) != static_cast<uint64_t>(count)) {
    return DataLoss("tensor " + name + " has a shape that does not fit its " +
                    std::to_string(tensor.bytes) + " bytes");
  }
  return tensor;
}

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

}  // namespace

int64_t ValueCount(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) return -1;
  }
  return count;
}

Result<SafetensorsFile> SafetensorsFile::Open(const std::filesystem::path& path) {
  SafetensorsFile out;
  GYRE_ASSIGN_OR_RETURN(out.file_, MappedFile::Open(path));
  const std::string_view bytes = out.file_.bytes();
  const auto damaged = [&path](const std::string& what) {
    return DataLoss(path.string() + " is no whole safetensors file: " + what);
  };
  uint64_t header_bytes = 0;
  if (bytes.size() < sizeof header_bytes) return damaged("it is cut off");
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  if (header_bytes > kMaxHeaderBytes || header_bytes > bytes.size() - sizeof header_bytes) {
    return damaged("its header is cut off");
  }
  out.data_at_ = sizeof header_bytes + header_bytes;
  const uint64_t data_bytes = bytes.size() - out.data_at_;
  const Json header = Json::parse(bytes.substr(sizeof header_bytes, header_bytes), nullptr, false);
  if (!header.is_object()) return damaged("its header is not a JSON object");
  try {
    for (const auto& [name, json] : header.items()) {
      if (name == "__metadata__") {
        json.get_to(out.metadata_);
        continue;
      }
      auto tensor = ParseEntry(name, json, data_bytes);
      if (!tensor.ok()) return damaged(tensor.status().message());
      out.tensors_.push_back(*std::move(tensor));
    }
  } catch (const Json::exception& error) {
    return damaged(error.what());
  }
  std::sort(out.tensors_.begin(), out.tensors_.end(),
            [](const TensorEntry& a, const TensorEntry& b) {
              return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
            });
  uint64_t end = 0;
  for (size_t i = 0; i < out.tensors_.size(); ++i) {
    const TensorEntry& tensor = out.tensors_[i];
    if (tensor.offset != end)
      return damaged("there is a gap or overlap before tensor " + tensor.name);
    end = tensor.offset + tensor.bytes;
    if (!out.by_name_.emplace(tensor.name, i).second)
      return damaged("two tensors named " + tensor.name);
  }
  if (end != data_bytes) return damaged("its length does not match its header");
  return out;
}

const TensorEntry* SafetensorsFile::Find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

Status SafetensorsFile::Read(const TensorEntry& tensor, std::span<float> values) const {
  if (static_cast<int64_t>(values.size()) != ValueCount(tensor.shape)) {
    return InvalidArgument("tensor " + tensor.name + " has " +
                           std::to_string(ValueCount(tensor.shape)) + " values, not " +
                           std::to_string(values.size()));
  }
  const char* from = file_.bytes().data() + data_at_ + tensor.offset;
  if (tensor.dtype == "F32") {
    if (!values.empty()) std::memcpy(values.data(), from, values.size_bytes());
    return OkStatus();
  }
  if (tensor.dtype != "F16" && tensor.dtype != "BF16") {
    return InvalidArgument("tensor " + tensor.name + " has the type " + tensor.dtype +
                           "; F32, F16 and BF16 can be read as numbers");
  }
  const bool half = tensor.dtype == "F16";
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
    values[i] = half ? HalfToFloat(bits) : std::bit_cast<float>(uint32_t{bits} << 16);
  }
  return OkStatus();
}

Result<SafetensorsWriter> SafetensorsWriter::Create(
    const std::filesystem::path& path, const std::map<std::string, std::string>& metadata,
    const std::vector<TensorEntry>& tensors) {
  Json header = Json::object();
  header["__metadata__"] = metadata;
  int64_t offset = 0;
  for (const TensorEntry& tensor : tensors) {
    const int64_t count = ValueCount(tensor.shape);
    if (count < 0) return InvalidArgument("tensor " + tensor.name + " has an impossible shape");
    const int64_t end = offset + count * static_cast<int64_t>(sizeof(float));
    header[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus(errno, "cannot create " + path.string());
  SafetensorsWriter writer(path, fd);
  writer.expected_ = tensors;
  const uint64_t header_bytes = text.size();
  GYRE_RETURN_IF_ERROR(writer.Write(&header_bytes, sizeof header_bytes));
  GYRE_RETURN_IF_ERROR(writer.Write(text.data(), text.size()));
  return writer;
}

SafetensorsWriter::SafetensorsWriter(SafetensorsWriter&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      hash_(other.hash_),
      bytes_(other.bytes_),
      expected_(std::move(other.expected_)),
      next_(other.next_) {}

SafetensorsWriter::~SafetensorsWriter() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(path_.c_str());
}

Status SafetensorsWriter::Write(const void* data, size_t bytes) {
  hash_.Update(data, bytes);
  bytes_ += static_cast<int64_t>(bytes);
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(fd_, from, bytes);
    if (written < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, "cannot write " + path_.string());
    }
    from += written;
    bytes -= static_cast<size_t>(written);
  }
  return OkStatus();
}

Status SafetensorsWriter::Append(std::span<const float> values) {
  if (next_ == expected_.size() ||
      static_cast<int64_t>(values.size()) != ValueCount(expected_[next_].shape)) {
    return Internal("a tensor was written to " + path_.string() + " that its header does not have");
  }
  ++next_;
  return Write(values.data(), values.size_bytes());
}

Result<SafetensorsWriter::Written> SafetensorsWriter::Finish() {
  if (next_ != expected_.size()) return Internal("tensors are missing in " + path_.string());
  if (fsync(fd_) != 0) return ErrnoStatus(errno, "cannot sync " + path_.string());
  const int fd = std::exchange(fd_, -1);
  if (close(fd) != 0) return ErrnoStatus(errno, "cannot close " + path_.string());
  return Written{hash_.Finish(), bytes_};
}

}  // namespace gyre
