#pragma once

// Which of several texts the n-th row of training comes from: a pure function of (weights, seed,
// n). A text with the share w of the weights has floor(n*w) or ceil(n*w) of the first n rows (for
// more than two texts within one a text more), so shares hold exactly in the long run and nearly in
// every batch; and which row of its own order the n-th is follows from the same count.
//
// Texts are split off one after the other: of the rows that are left, the first takes those at
// which its running count, share * n + phase, passes a whole number. Counts are in whole numbers of
// 2^-32, so nothing is lost over any number of rows. The phases come from the seed.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"

namespace gyre {

class TextShares {
 public:
  /// INVALID_ARGUMENT: no text, or a weight that is not a finite number above 0.
  static Result<TextShares> Create(const std::vector<double>& weights, uint64_t seed);

  struct Row {
    size_t text = 0;
    int64_t index = 0;  // in that text's own order
  };
  /// n from 0.
  Row At(int64_t n) const;

 private:
  struct Split {
    uint64_t share = 0;  // of what is left, in units of 2^-32
    uint64_t phase = 0;  // the same units, below 2^32
  };
  std::vector<Split> splits_;  // of every text but the last
};

}  // namespace gyre
