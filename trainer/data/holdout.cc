#include "trainer/data/holdout.h"

#include <algorithm>
#include <cstdlib>

namespace gyre {
namespace {

// The first 52 bits as a number in [0, 1).
double Place(uint64_t hash) { return static_cast<double>(hash >> 12) * 0x1p-52; }

}  // namespace

uint64_t HashPrefix(const std::string& sha256) {
  return std::strtoull(sha256.substr(0, 16).c_str(), nullptr, 16);
}

std::vector<bool> HeldOut(const std::vector<uint64_t>& hashes, double holdout) {
  if (hashes.empty()) return {};
  const auto [least, greatest] = std::minmax_element(hashes.begin(), hashes.end());
  std::vector<bool> held_out(hashes.size());
  for (size_t i = 0; i < hashes.size(); ++i) {
    bool out = Place(hashes[i]) < holdout;
    if (holdout > 0 && holdout < 1 && *least != *greatest) {
      if (hashes[i] == *least) out = true;
      if (hashes[i] == *greatest) out = false;
    }
    held_out[i] = out;
  }
  return held_out;
}

HeldOutTail::HeldOutTail(uint64_t size) : size_(size), ninety_(size - size / 10) {}

void HeldOutTail::Add(std::string_view piece) {
  const uint64_t begin = seen_, end = seen_ + piece.size();
  seen_ = end;
  // The bytes ninety_ - 3 .. ninety_, to step back to the beginning of a character.
  const uint64_t from = std::max(begin, ninety_ < 3 ? 0 : ninety_ - 3);
  const uint64_t to = std::min(end, ninety_ + 1);
  if (from < to) before_ += piece.substr(from - begin, to - from);
  if (line_begin_ != 0) return;
  // A line end right before the 90% counts: the cut is where the next line begins.
  const uint64_t first = std::max(begin, ninety_ == 0 ? 0 : ninety_ - 1);
  if (first >= end) return;
  const size_t found = piece.find('\n', first - begin);
  if (found == std::string_view::npos) return;
  const uint64_t line_end = begin + found;
  if (line_end + 1 < size_ && line_end < size_ - size_ / 20) line_begin_ = line_end + 1;
}

uint64_t HeldOutTail::cut() const {
  if (line_begin_ != 0) return line_begin_;
  if (ninety_ >= size_) return ninety_;
  const auto continues = [this](size_t at) {
    return (static_cast<unsigned char>(before_[at]) & 0xC0) == 0x80;
  };
  size_t at = before_.size() - 1;
  while (at > 0 && continues(at)) --at;
  return ninety_ - (before_.size() - 1 - at);
}

}  // namespace gyre
