#pragma once

// Sums over ranks in one order: ((rank 0 + rank 1) + rank 2) + ..., whoever computes them.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace gyre {

/// sum[i] = what all `parts` have at i, each of `count` numbers; `sum` may be one of them. `T` is
/// float or double.
template <typename T>
void SumInRankOrder(const std::vector<const T*>& parts, int64_t count, T* sum) {
  std::array<T, 1024> piece;
  for (int64_t from = 0; from < count; from += static_cast<int64_t>(piece.size())) {
    const int64_t length = std::min<int64_t>(static_cast<int64_t>(piece.size()), count - from);
    std::copy_n(parts[0] + from, length, piece.data());
    for (size_t p = 1; p < parts.size(); ++p) {
      const T* part = parts[p] + from;
      for (int64_t i = 0; i < length; ++i) piece[static_cast<size_t>(i)] += part[i];
    }
    std::copy_n(piece.data(), length, sum + from);
  }
}

/// Where the share of `rank` begins when `count` things in a row are shared out among `ranks`:
/// shares differ by one thing at most, and rank `ranks` is the end.
inline int64_t ShareBegin(int64_t count, int rank, int ranks) {
  return count / ranks * rank + std::min<int64_t>(rank, count % ranks);
}

}  // namespace gyre
