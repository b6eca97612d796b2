#include "results/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numeric>

namespace gyre {

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::optional<double> SampleStd(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  const double mean = Mean(values);
  double squares = 0;
  for (double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::optional<TInterval> StudentT(const std::vector<double>& values) {
  const std::optional<double> std = SampleStd(values);
  if (!std) return std::nullopt;
  const double n = static_cast<double>(values.size());
  const double mean = Mean(values);
  const double error = *std / std::sqrt(n);
  if (!std::isfinite(error)) return std::nullopt;
  // Equal values differ from their computed mean by a few units in the last place.
  if (error <= 10 * std::numeric_limits<double>::epsilon() * std::abs(mean)) return std::nullopt;

  const boost::math::students_t distribution(n - 1);
  const double half_width =
      boost::math::quantile(boost::math::complement(distribution, 0.025)) * error;
  TInterval interval;
  interval.low = mean - half_width;
  interval.high = mean + half_width;
  interval.t = mean / error;
  interval.degrees_of_freedom = static_cast<int>(values.size()) - 1;
  interval.p = 2 * boost::math::cdf(boost::math::complement(distribution, std::abs(interval.t)));
  return interval;
}

std::vector<double> HolmAdjusted(const std::vector<double>& p) {
  std::vector<size_t> ascending(p.size());
  std::iota(ascending.begin(), ascending.end(), size_t{0});
  std::stable_sort(ascending.begin(), ascending.end(),
                   [&](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (size_t rank = 0; rank < ascending.size(); ++rank) {
    const double scaled = static_cast<double>(p.size() - rank) * p[ascending[rank]];
    largest = std::max(largest, std::min(scaled, 1.0));
    adjusted[ascending[rank]] = largest;
  }
  return adjusted;
}

}  // namespace gyre
