#pragma once

// GGUF, versions 2 and 3, as llama.cpp writes it: "GGUF", u32 version, u64 tensors, u64 values; the
// values (key, u32 type, content); per tensor name, u32 dimensions, u64 sizes (the fastest first),
// u32 type, u64 offset; then, aligned to general.alignment, the data. Strings are u64 length and
// bytes. All that the file claims is checked when it is opened, and nothing is copied that is
// large: lists of numbers and strings stay where they lie. Immutable.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "trainer/config/job_config.h"
#include "trainer/pretrained/mapped_tensors.h"

namespace gyre {

class GgufFile {
 public:
  /// NOT_FOUND; DATA_LOSS: damaged (says what is wrong); INVALID_ARGUMENT: a version, or a type of
  /// a tensor, that cannot be read.
  static Result<GgufFile> Open(const std::filesystem::path& path);
  /// Whether a file begins as one. False too if it cannot be read.
  static bool Is(const std::filesystem::path& path);

  /// Single values by key, as a JSON object. Numbers of 32 bits are the shortest that mean them.
  const Json& values() const { return values_; }
  bool HasList(const std::string& key) const { return lists_.contains(key); }
  /// A list. INVALID_ARGUMENT: there is none of that key, or of other things. The views live as
  /// long as this.
  Result<std::vector<std::string_view>> Strings(const std::string& key) const;
  Result<std::vector<int64_t>> WholeNumbers(const std::string& key) const;  // flags too
  Result<std::vector<float>> Floats(const std::string& key) const;

  const MappedTensors& tensors() const { return tensors_; }
  /// The tensors alone.
  MappedTensors TakeTensors() && { return std::move(tensors_); }

 private:
  struct List {
    uint32_t type = 0;  // of its elements
    uint64_t count = 0;
    std::string_view bytes;
  };
  class Parser;

  Result<List> Find(const std::string& key) const;

  Json values_ = Json::object();
  std::map<std::string, List> lists_;
  MappedTensors tensors_;
};

}  // namespace gyre
