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
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "trainer/pretrained/mapped_tensors.h"

namespace gyre {

/// A memory-mapped file. Everything the header claims is checked when it is opened. Immutable.
class SafetensorsFile {
 public:
  /// NOT_FOUND; DATA_LOSS: damaged (says what is wrong).
  static Result<SafetensorsFile> Open(const std::filesystem::path& path);

  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// In the file's order of bytes.
  const std::vector<TensorEntry>& tensors() const { return contents_.tensors(); }
  /// nullptr if there is none.
  const TensorEntry* Find(const std::string& name) const { return contents_.Find(name); }
  /// The values as float32. `values` has as many places as the tensor. INVALID_ARGUMENT: another
  /// count, or a dtype that isn't F32, F16 or BF16.
  Status Read(const TensorEntry& tensor, std::span<float> values) const;
  /// The whole file, e.g. for its hash.
  std::string_view bytes() const { return contents_.bytes(); }
  /// The tensors without what is said about them.
  MappedTensors TakeContents() && { return std::move(contents_); }

 private:
  MappedTensors contents_;
  std::map<std::string, std::string> metadata_;
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

}  // namespace gyre
