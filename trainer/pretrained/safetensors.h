#pragma once

// The safetensors format: u64 header length (little-endian), a JSON header {name: {dtype, shape,
// data_offsets},
// "__metadata__": {string: string}}, then the tensors' bytes, row-major and little-endian. Weights
// in Hugging Face folders and our checkpoints are such files.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/status.h"

namespace gyre {

struct TensorEntry {
  std::string name;
  std::vector<int64_t> shape;
  std::string dtype = "F32";       // F32 | F16 | BF16 and others that only travel
  uint64_t offset = 0, bytes = 0;  // within the data part of the file
};

/// A memory-mapped file. Everything the header claims is checked when it is opened. Immutable.
class SafetensorsFile {
 public:
  /// NOT_FOUND; DATA_LOSS: damaged (says what is wrong).
  static Result<SafetensorsFile> Open(const std::filesystem::path& path);

  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// In the file's order of bytes.
  const std::vector<TensorEntry>& tensors() const { return tensors_; }
  /// nullptr if there is none.
  const TensorEntry* Find(const std::string& name) const;
  /// The values as float32. `values` has as many places as the tensor. INVALID_ARGUMENT: another
  /// count, or a dtype that isn't F32, F16 or BF16.
  Status Read(const TensorEntry& tensor, std::span<float> values) const;
  /// The whole file, e.g. for its hash.
  std::string_view bytes() const { return file_.bytes(); }

 private:
  MappedFile file_;
  size_t data_at_ = 0;
  std::map<std::string, std::string> metadata_;
  std::vector<TensorEntry> tensors_;
  std::map<std::string, size_t> by_name_;
};

/// Writes a float32 file tensor by tensor. The file is whole and on disk only after Finish(); if
/// the writer is destroyed before, the file is removed.
class SafetensorsWriter {
 public:
  struct Written {
    std::string hash;  // SHA-256 of the file
    int64_t bytes = 0;
  };

  /// `tensors`: names and shapes, in the order in which Append() will get them.
  static Result<SafetensorsWriter> Create(const std::filesystem::path& path,
                                          const std::map<std::string, std::string>& metadata,
                                          const std::vector<TensorEntry>& tensors);
  SafetensorsWriter(SafetensorsWriter&&) noexcept;
  SafetensorsWriter& operator=(SafetensorsWriter&&) = delete;
  ~SafetensorsWriter();

  /// The next tensor's values. RESOURCE_EXHAUSTED: the disk is full.
  Status Append(std::span<const float> values);
  /// Checks that every tensor came, syncs and closes.
  Result<Written> Finish();

 private:
  SafetensorsWriter(std::filesystem::path path, int fd) : path_(std::move(path)), fd_(fd) {}
  Status Write(const void* data, size_t bytes);

  std::filesystem::path path_;
  int fd_ = -1;
  Sha256 hash_;
  int64_t bytes_ = 0;
  std::vector<TensorEntry> expected_;
  size_t next_ = 0;
};

/// Number of values of a shape; negative if a dimension is negative or the product overflows.
int64_t ValueCount(const std::vector<int64_t>& shape);

}  // namespace gyre
