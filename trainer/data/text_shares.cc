#include "trainer/data/text_shares.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/random.h"

namespace gyre {

Result<TextShares> TextShares::Create(const std::vector<double>& weights, uint64_t seed) {
  if (weights.empty()) return InvalidArgument("there is no text to train on");
  for (const double weight : weights) {
    if (!(std::isfinite(weight) && weight > 0)) {
      return InvalidArgument(
          "the weight of a training text must be a finite number above 0, and is " +
          std::to_string(weight));
    }
  }
  const Random phases(seed, "data/texts");
  TextShares shares;
  for (size_t i = 0; i + 1 < weights.size(); ++i) {
    double left = 0;
    for (size_t j = i; j < weights.size(); ++j) left += weights[j];
    const auto share = static_cast<uint64_t>(std::llround(weights[i] / left * 0x1p32));
    shares.splits_.push_back({std::max<uint64_t>(share, 1), phases.Bits(0, i) >> 32});
  }
  return shares;
}

TextShares::Row TextShares::At(int64_t n) const {
  for (size_t text = 0; text < splits_.size(); ++text) {
    const Split& split = splits_[text];
    const auto count = [&split](int64_t rows) {  // of this text, among the first `rows`
      return static_cast<int64_t>(
          (static_cast<unsigned __int128>(rows) * split.share + split.phase) >> 32);
    };
    const int64_t before = count(n);
    if (count(n + 1) > before) return {text, before};
    n -= before;
  }
  return {splits_.size(), n};
}

}  // namespace gyre
