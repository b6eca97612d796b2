#pragma once

// The bootstrap over documents: what other text of the same kind might have given. Documents are
// drawn with replacement, all equally probable; a draw's value is the ratio of two sums over the
// drawn documents (nats over targets), so that long documents weigh as much as in the loss itself.
// Draws are a function of their number alone: the same values give the same intervals, always, and
// values that are asked for together see the same draws.

#include <optional>
#include <vector>

namespace gyre {

inline constexpr int kBootstrapDraws = 4000;
/// With fewer documents the intervals are too short by more than can be mended.
inline constexpr int kFewestDocuments = 8;

struct BootstrapInterval {
  double low = 0, high = 0;
};

/// The 95% interval of sum(numerator)/sum(denominators) for each of `numerators`, which are as long
/// as `denominators`; those are positive. Percentiles of the draws, expanded for few documents
/// (Hesterberg 2015, "What Teachers Should Know About the Bootstrap"): the tails are
/// those of a normal distribution beyond sqrt(n/(n-1)) times Student's quantile with n - 1 degrees
/// of freedom. Absent below kFewestDocuments.
std::optional<std::vector<BootstrapInterval>> BootstrapRatios(
    const std::vector<std::vector<double>>& numerators, const std::vector<double>& denominators,
    int draws = kBootstrapDraws);

}  // namespace gyre
