#include "analysis/theory/sharp_head.h"

#include <algorithm>
#include <cmath>

namespace gyre {
namespace {

/// 1 - cos as 2 sin^2 of the half: no digits are lost where it is small.
double Gap(const SharpHead& head, int distance) {
  double gap = 0;
  for (size_t k = 0; k < head.frequencies.size(); ++k) {
    const double sine = std::sin(distance * head.frequencies[k] / 2);
    gap += head.shares[k] * 2 * sine * sine;
  }
  return gap;
}

/// Of all keys but the sharpest.
std::vector<double> Gaps(const SharpHead& head, SharpPattern pattern) {
  std::vector<double> gaps;
  const int sharpest = pattern == SharpPattern::kPrevious ? 1 : 0;
  for (int m = 0; m < head.length; ++m) {
    if (m != sharpest) gaps.push_back(Gap(head, m - sharpest));
  }
  return gaps;
}

double Allowed(const SharpHead& head) { return head.eps / (1 - head.eps); }

/// ln of sum exp(-x gap), and its derivative.
struct LogSum {
  double value = 0, slope = 0;
};

LogSum LogSumOf(const std::vector<double>& gaps, double least, double x) {
  double sum = 0, weighted = 0;
  for (const double gap : gaps) {
    const double term = std::exp(-x * (gap - least));
    sum += term;
    weighted += term * gap;
  }
  return {std::log(sum) - x * least, -weighted / sum};
}

}  // namespace

SharpHead EvenlyShared(std::vector<double> frequencies, int head_dim, int length, double eps) {
  const double share = 1 / static_cast<double>(frequencies.size());
  std::vector<double> shares(frequencies.size(), share);
  return {std::move(frequencies), std::move(shares), head_dim, length, eps};
}

double NormBudget(const SharpHead& head, SharpPattern pattern) {
  const std::vector<double> gaps = Gaps(head, pattern);
  const double allowed = Allowed(head);
  if (static_cast<double>(gaps.size()) <= allowed) return 0;
  if (static_cast<double>(std::count(gaps.begin(), gaps.end(), 0.0)) >= allowed) return INFINITY;
  const double least = *std::min_element(gaps.begin(), gaps.end());
  // ln sum exp is convex and falls, so Newton's steps from the left never pass the root.
  constexpr int kMostSteps = 500;
  double x = 0;
  for (int step = 0; step < kMostSteps; ++step) {
    const LogSum at = LogSumOf(gaps, least, x);
    const double move = (std::log(allowed) - at.value) / at.slope;
    x += move;
    if (!(move > 1e-14 * x)) break;
  }
  return x * std::sqrt(head.head_dim);
}

double SufficientBudget(const SharpHead& head) {
  const std::vector<double> gaps = Gaps(head, SharpPattern::kDiagonal);
  const double needed = std::log(static_cast<double>(gaps.size()) / Allowed(head));
  if (gaps.empty() || needed <= 0) return 0;
  return std::sqrt(head.head_dim) * needed / *std::min_element(gaps.begin(), gaps.end());
}

double SharpAttention(const SharpHead& head, SharpPattern pattern, double norm) {
  double others = 0;
  for (const double gap : Gaps(head, pattern)) {
    others += std::exp(-norm * gap / std::sqrt(head.head_dim));
  }
  return 1 / (1 + others);
}

}  // namespace gyre
