#pragma once

// Collects what is wrong with a file, in any order and as often as it is found; gives it back once,
// in order of place.

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
  Faults(std::string file, const SourceText* source) : file_(std::move(file)), source_(source) {}

  /// A fault found again at the same place with the same message counts once.
  void Add(const TextPlace& place, const std::string& message, const std::string& help = "");
  /// At most one fault for each place and check, whatever its message.
  void AddOnce(const TextPlace& place, const std::string& check, const std::string& message,
               const std::string& help = "");

  int64_t count() const { return count_; }
  /// In order of place; beyond the first 1,000 only their number.
  std::vector<Diagnostic> Take();

 private:
  std::string file_;
  const SourceText* source_;
  std::set<std::tuple<int, int, std::string>> seen_;
  std::vector<Diagnostic> diagnostics_;
  int64_t count_ = 0;
};

/// 1234567 -> "1,234,567".
std::string WithSeparators(uint64_t number);

}  // namespace gyre
