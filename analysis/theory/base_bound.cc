#include "analysis/theory/base_bound.h"

#include <cmath>
#include <string>

namespace gyre {
namespace {

constexpr double kLargestTheta = 1e12;

/// B(m) for m = 0, 1, 2, ...: each pair is turned on by its frequency, and set anew from sine and
/// cosine before roundings add up.
class CosineWalk {
 public:
  explicit CosineWalk(const std::vector<double>& frequencies)
      : frequencies_(frequencies), cosine_(frequencies.size()), sine_(frequencies.size()) {
    for (const double f : frequencies) {
      step_cosine_.push_back(std::cos(f));
      step_sine_.push_back(std::sin(f));
    }
  }

  double Next() {
    constexpr int kSteps = 64;
    const bool anew = m_ % kSteps == 0;
    double sum = 0;
    for (size_t k = 0; k < frequencies_.size(); ++k) {
      const double c = cosine_[k], s = sine_[k];
      cosine_[k] = anew ? std::cos(m_ * frequencies_[k]) : c * step_cosine_[k] - s * step_sine_[k];
      sine_[k] = anew ? std::sin(m_ * frequencies_[k]) : s * step_cosine_[k] + c * step_sine_[k];
      sum += cosine_[k];
    }
    ++m_;
    return sum;
  }

 private:
  const std::vector<double>& frequencies_;
  std::vector<double> cosine_, sine_, step_cosine_, step_sine_;  // (pairs)
  int m_ = 0;
};

}  // namespace

std::vector<double> CosineSums(const std::vector<double>& frequencies, int length) {
  CosineWalk walk(frequencies);
  std::vector<double> sums;
  for (int m = 0; m <= length; ++m) sums.push_back(walk.Next());
  return sums;
}

LowestSum FindLowestSum(const std::vector<double>& frequencies, int length) {
  CosineWalk walk(frequencies);
  LowestSum lowest{INFINITY, 0};
  for (int m = 0; m <= length; ++m) {
    if (const double sum = walk.Next(); sum < lowest.value) lowest = {sum, m};
  }
  return lowest;
}

std::optional<int> FirstNegativeSum(const std::vector<double>& frequencies, int length) {
  CosineWalk walk(frequencies);
  for (int m = 0; m <= length; ++m) {
    if (walk.Next() < 0) return m;
  }
  return std::nullopt;
}

Result<BaseBound> FindBaseBound(const LadderOfTheta& ladder, int length) {
  double before = 0;
  for (double power = 1; 10 * power < kLargestTheta; power *= 10) {
    for (int digits = 10; digits < 100; ++digits) {
      const double theta = digits * power;
      GYRE_ASSIGN_OR_RETURN(const std::vector<double> frequencies, ladder(theta));
      if (FirstNegativeSum(frequencies, length)) {
        before = theta;
        continue;
      }
      BaseBound bound{theta, FindLowestSum(frequencies, length), before, {}};
      if (before > 0) {
        GYRE_ASSIGN_OR_RETURN(const std::vector<double> failing, ladder(before));
        bound.lowest_before = FindLowestSum(failing, length);
      }
      return bound;
    }
  }
  return FailedPrecondition("no theta below 1e12 keeps the sum of cosines at or above 0 up to " +
                            std::to_string(length));
}

double FittedBase(double length) { return 0.0424 * std::pow(length, 1.628); }

}  // namespace gyre
