#include "results/bootstrap.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "base/random.h"

namespace gyre {
namespace {

/// How often each of n documents is drawn, as doubles: they are multiplied with.
void Draw(const Random& random, int draw, std::vector<double>* counts) {
  std::fill(counts->begin(), counts->end(), 0.0);
  const uint64_t n = counts->size();
  for (uint64_t i = 0; i < n; ++i) (*counts)[random.Below(n, static_cast<uint64_t>(draw), i)] += 1;
}

/// Four sums side by side: one waits for itself at every step.
double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sums[4] = {0, 0, 0, 0};
  size_t i = 0;
  for (; i + 4 <= a.size(); i += 4) {
    for (size_t j = 0; j < 4; ++j) sums[j] += a[i + j] * b[i + j];
  }
  for (; i < a.size(); ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// The share of the draws beyond each end.
double Tail(size_t documents) {
  const double n = static_cast<double>(documents);
  const boost::math::students_t student(n - 1);
  const double quantile = boost::math::quantile(boost::math::complement(student, 0.025));
  return boost::math::cdf(
      boost::math::complement(boost::math::normal(), std::sqrt(n / (n - 1)) * quantile));
}

/// The value below which the share `probability` lies: between order statistics (B + 1) * share.
double Quantile(const std::vector<double>& sorted, double probability) {
  const double last = static_cast<double>(sorted.size() - 1);
  const double place =
      std::clamp(probability * static_cast<double>(sorted.size() + 1) - 1, 0.0, last);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

std::optional<std::vector<BootstrapInterval>> BootstrapRatios(
    const std::vector<std::vector<double>>& numerators, const std::vector<double>& denominators,
    int draws) {
  if (denominators.size() < kFewestDocuments) return std::nullopt;
  const Random random(0, "bootstrap/documents");
  std::vector<double> counts(denominators.size());
  std::vector<std::vector<double>> ratios(numerators.size());
  for (int draw = 0; draw < draws; ++draw) {
    Draw(random, draw, &counts);
    const double denominator = Dot(counts, denominators);
    for (size_t i = 0; i < numerators.size(); ++i) {
      ratios[i].push_back(Dot(counts, numerators[i]) / denominator);
    }
  }
  const double tail = Tail(denominators.size());
  std::vector<BootstrapInterval> intervals;
  for (std::vector<double>& values : ratios) {
    std::sort(values.begin(), values.end());
    intervals.push_back({Quantile(values, tail), Quantile(values, 1 - tail)});
  }
  return intervals;
}

}  // namespace gyre
