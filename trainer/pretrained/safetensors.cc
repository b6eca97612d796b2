#include "trainer/pretrained/safetensors.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

namespace gyre {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMaxHeaderBytes = 100'000'000;

// One entry of the header. Throws Json::exception on a wrong type.
Result<TensorEntry> ParseEntry(const std::string& name, const Json& json) {
  TensorEntry tensor;
  tensor.name = name;
  json.at("dtype").get_to(tensor.dtype);
  json.at("shape").get_to(tensor.shape);
  const auto offsets = json.at("data_offsets").get<std::vector<uint64_t>>();
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    return DataLoss("tensor " + name + " lies outside the file");
  }
  tensor.offset = offsets[0];
  tensor.bytes = offsets[1] - offsets[0];
  return tensor;
}

// They have to follow each other without gaps, as the format has it.
Status AddInOrder(std::vector<TensorEntry> tensors, MappedTensors* contents) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  });
  uint64_t end = 0;
  for (TensorEntry& tensor : tensors) {
    if (tensor.offset != end) {
      return DataLoss("there is a gap or overlap before tensor " + tensor.name);
    }
    end = tensor.offset + tensor.bytes;
    GYRE_RETURN_IF_ERROR(contents->Add(std::move(tensor)));
  }
  if (end != contents->data_bytes()) return DataLoss("its length does not match its header");
  return OkStatus();
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::Open(const std::filesystem::path& path) {
  SafetensorsFile out;
  GYRE_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(path));
  const std::string_view bytes = mapped.bytes();
  const auto damaged = [&path](const std::string& what) {
    return DataLoss(path.string() + " is no whole safetensors file: " + what);
  };
  uint64_t header_bytes = 0;
  if (bytes.size() < sizeof header_bytes) return damaged("it is cut off");
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  if (header_bytes > kMaxHeaderBytes || header_bytes > bytes.size() - sizeof header_bytes) {
    return damaged("its header is cut off");
  }
  const Json header = Json::parse(bytes.substr(sizeof header_bytes, header_bytes), nullptr, false);
  if (!header.is_object()) return damaged("its header is not a JSON object");
  std::vector<TensorEntry> tensors;
  try {
    for (const auto& [name, json] : header.items()) {
      if (name == "__metadata__") {
        json.get_to(out.metadata_);
        continue;
      }
      auto tensor = ParseEntry(name, json);
      if (!tensor.ok()) return damaged(tensor.status().message());
      tensors.push_back(*std::move(tensor));
    }
  } catch (const Json::exception& error) {
    return damaged(error.what());
  }
  out.contents_ = MappedTensors(std::move(mapped), sizeof header_bytes + header_bytes);
  if (const Status status = AddInOrder(std::move(tensors), &out.contents_); !status.ok()) {
    return damaged(status.message());
  }
  return out;
}

Status SafetensorsFile::Read(const TensorEntry& tensor, std::span<float> values) const {
  if (static_cast<int64_t>(values.size()) != ValueCount(tensor.shape)) {
    return InvalidArgument("tensor " + tensor.name + " has " +
                           std::to_string(ValueCount(tensor.shape)) + " values, not " +
                           std::to_string(values.size()));
  }
  return contents_.Read(tensor, 0, values);
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
