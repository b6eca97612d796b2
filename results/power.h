#pragma once

// What a number of seeds can tell: the power of the paired, two-sided t test at 0.05. The
// alternative is Student's t with noncentrality sqrt(pairs) * effect (Cohen 1988, "Statistical
// Power Analysis for the Behavioral Sciences", chapter 2; G*Power's "matched pairs"). Both tails
// count. Pure functions of numbers.

#include <optional>

namespace gyre {

inline constexpr double kPower = 0.8;
inline constexpr int kMostPairs = 1000;

/// How probably the test over `pairs` (at least 2) finds a true difference of `effect` standard
/// deviations of the differences. 0.05 for an effect of zero.
double PairedTPower(int pairs, double effect);

/// The fewest pairs, at least 2, with which the test finds such a difference with a chance of
/// kPower; absent where that takes more than kMostPairs.
std::optional<int> PairsNeeded(double effect);

/// The smallest effect, in standard deviations of the differences, that `pairs` (at least 2) find
/// with a chance of kPower.
double ResolvableEffect(int pairs);

}  // namespace gyre
