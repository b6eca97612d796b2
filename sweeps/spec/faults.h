#pragma once

// Collects what is wrong with a file and those that it extends, in any order and as often as it is
// found; gives it back once, in order of file and place.

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sweeps/spec/source_text.h"
#include "sweeps/spec/sweep_spec.h"

namespace gyre {

class Faults {
 public:
  Faults(std::string file, const SourceText* source) { AddFile(std::move(file), source); }

  /// Takes another file, under the name that messages have for it; answers its TextPlace::file.
  int AddFile(std::string file, const SourceText* source) {
    files_.push_back({std::move(file), source});
    return static_cast<int>(files_.size()) - 1;
  }
  const std::string& FileName(int file) const { return files_[file].name; }

  /// A fault found again at the same place with the same message counts once.
  void Add(const TextPlace& place, const std::string& message, const std::string& help = "");
  /// At most one fault for each place and check, whatever its message.
  void AddOnce(const TextPlace& place, const std::string& check, const std::string& message,
               const std::string& help = "");

  int64_t count() const { return count_; }
  /// In order of place; beyond the first 1,000 only their number.
  std::vector<Diagnostic> Take();

 private:
  struct NamedText {
    std::string name;
    const SourceText* source;
  };
  struct Placed {
    int file;
    Diagnostic diagnostic;
  };
  std::vector<NamedText> files_;
  std::set<std::tuple<int, int, int, std::string>> seen_;
  std::vector<Placed> diagnostics_;
  int64_t count_ = 0;
};

/// 1234567 -> "1,234,567".
std::string WithSeparators(uint64_t number);

}  // namespace gyre
