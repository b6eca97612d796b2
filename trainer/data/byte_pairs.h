#pragma once

// Byte pair encoding: of all neighbours the pair of the lowest rank becomes one, the leftmost
// first, until none is left that can.

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gyre {

class BytePairs {
 public:
  /// `merges`, by rank: left, right, what they become. Of a pair that comes twice the first holds.
  explicit BytePairs(const std::vector<std::array<int32_t, 3>>& merges);

  /// Takes n log n steps. `symbols` becomes what is left of it.
  void Merge(std::vector<int>* symbols) const;

 private:
  struct Merged {
    uint32_t rank;
    int32_t id;
  };
  const Merged* Find(int left, int right) const {
    const auto found =
        pairs_.find(uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right));
    return found == pairs_.end() ? nullptr : &found->second;
  }

  std::unordered_map<uint64_t, Merged> pairs_;
};

}  // namespace gyre
