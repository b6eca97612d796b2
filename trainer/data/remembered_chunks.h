#pragma once

// The ids of chunks of text that came before, since words come again. Of two generations: when the
// younger is full it becomes the older, so that what is used often stays.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gyre {

class RememberedChunks {
 public:
  /// Appends the chunk's ids; `make`, a std::vector<int>(std::string_view), is asked for what is
  /// not known.
  template <typename Make>
  void Append(std::string_view chunk, const Make& make, std::vector<int32_t>* ids) {
    if (chunk.size() > kMaxBytes) {
      const std::vector<int> made = make(chunk);
      ids->insert(ids->end(), made.begin(), made.end());
      return;
    }
    auto found = younger_.find(chunk);
    if (found == younger_.end()) {
      const auto old = older_.find(chunk);
      found = Remember(chunk, old != older_.end() ? std::move(old->second) : make(chunk));
    }
    ids->insert(ids->end(), found->second.begin(), found->second.end());
  }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Map = std::unordered_map<std::string, std::vector<int>, Hash, std::equal_to<>>;

  static constexpr size_t kMaxChunks = 1 << 18, kMaxBytes = 48;

  Map::iterator Remember(std::string_view chunk, std::vector<int> ids) {
    if (younger_.size() >= kMaxChunks) {
      older_ = std::move(younger_);
      younger_.clear();
    }
    return younger_.emplace(chunk, std::move(ids)).first;
  }

  Map younger_, older_;
};

}  // namespace gyre
