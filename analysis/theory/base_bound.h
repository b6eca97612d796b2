#pragma once

// How large theta has to be for a context (Men et al., "Base of RoPE Bounds Context Length", arXiv
// 2405.14591): the expected logit of a similar token exceeds that of a random one at distance m by
// a multiple of
//   B(m) = sum_k cos(m f_k),
// so a context of L needs B(m) >= 0 for all 0 <= m <= L. Pairs that are not rotated count 1 each.
// Pure; any thread.

#include <functional>
#include <optional>
#include <vector>

#include "base/status.h"

namespace gyre {

struct LowestSum {
  double value = 0;
  int at = 0;
};

/// B(m) for m = 0..length.
std::vector<double> CosineSums(const std::vector<double>& frequencies, int length);

/// The smallest of them, and the first place where it stands.
LowestSum FindLowestSum(const std::vector<double>& frequencies, int length);

/// The first m <= length with B(m) < 0.
std::optional<int> FirstNegativeSum(const std::vector<double>& frequencies, int length);

struct BaseBound {
  double theta = 0;
  LowestSum lowest;
  double theta_before = 0;  // the next smaller of the list, which fails; 0 = there is none
  LowestSum lowest_before;
};

/// The frequencies of an encoding as theta makes them.
using LadderOfTheta = std::function<Result<std::vector<double>>(double theta)>;

/// The smallest theta of two significant digits (10, 11, ..., 99, 100, 110, ...) that holds. The
/// condition is not monotone: a larger theta may fail again, a finer list may find a smaller one.
/// FAILED_PRECONDITION: none below 1e12 holds.
Result<BaseBound> FindBaseBound(const LadderOfTheta& ladder, int length);

/// What the paper fits to its bounds: 0.0424 L^1.628.
double FittedBase(double length);

}  // namespace gyre
