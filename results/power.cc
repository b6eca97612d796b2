#include "results/power.h"

#include <algorithm>
#include <boost/math/distributions/non_central_t.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace gyre {
namespace {

namespace policies = boost::math::policies;
// No exceptions: what a series cannot do better is good to far more digits than are shown.
using Quiet = policies::policy<policies::promote_double<false>,
                               policies::domain_error<policies::ignore_error>,
                               policies::evaluation_error<policies::ignore_error>,
                               policies::overflow_error<policies::ignore_error>,
                               policies::underflow_error<policies::ignore_error>>;

// With 12.8 as the largest critical value, that of two pairs, the power is 1 to the last digit.
constexpr double kCertain = 120;

constexpr double kNormalQuantiles = 1.959963985 + 0.841621234;  // of 0.975 and of kPower

}  // namespace

double PairedTPower(int pairs, double effect) {
  const double degrees_of_freedom = pairs - 1;
  const double noncentrality = std::abs(effect) * std::sqrt(static_cast<double>(pairs));
  if (!(noncentrality < kCertain)) return 1;
  const boost::math::students_t_distribution<double, Quiet> null(degrees_of_freedom);
  const double critical = boost::math::quantile(boost::math::complement(null, 0.025));
  const boost::math::non_central_t_distribution<double, Quiet> alternative(degrees_of_freedom,
                                                                           noncentrality);
  return boost::math::cdf(boost::math::complement(alternative, critical)) +
         boost::math::cdf(alternative, -critical);
}

std::optional<int> PairsNeeded(double effect) {
  // Were the spread known and not estimated, this many would do: a lower bound, and a close one.
  const double known = kNormalQuantiles / effect;
  if (!(known * known <= kMostPairs)) return std::nullopt;
  for (int pairs = std::max(2, static_cast<int>(known * known)); pairs <= kMostPairs; ++pairs) {
    if (PairedTPower(pairs, effect) >= kPower) return pairs;
  }
  return std::nullopt;
}

double ResolvableEffect(int pairs) {
  double too_small = 0, enough = 100;  // two pairs need 11.6
  for (int i = 0; i < 60; ++i) {
    const double middle = (too_small + enough) / 2;
    (PairedTPower(pairs, middle) >= kPower ? enough : too_small) = middle;
  }
  return enough;
}

}  // namespace gyre
