#include "trainer/data/holdout.h"

#include <algorithm>
#include <cstdlib>

namespace gyre {
namespace {

// The first 52 bits of a SHA-256, as a number in [0, 1).
double Place(const std::string& hash) {
  return static_cast<double>(std::strtoull(hash.substr(0, 13).c_str(), nullptr, 16)) * 0x1p-52;
}

}  // namespace

std::vector<bool> HeldOut(const std::vector<std::string>& hashes, double holdout) {
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

size_t HeldOutTail(std::string_view text) {
  size_t cut = text.size() - text.size() / 10;
  const size_t line_end = text.find('\n', cut == 0 ? 0 : cut - 1);
  if (line_end != std::string_view::npos && line_end + 1 < text.size() &&
      line_end < text.size() - text.size() / 20) {
    return line_end + 1;
  }
  const auto continues = [&](size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  for (int back = 0; back < 3 && cut > 0 && cut < text.size() && continues(cut); ++back) --cut;
  return cut;
}

}  // namespace gyre
