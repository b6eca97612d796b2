#pragma once

// Statistics over seeds. Pure functions of numbers.

#include <optional>
#include <vector>

namespace gyre {

/// The mean of `values`, which must not be empty.
double Mean(const std::vector<double>& values);

/// The sample standard deviation (divisor n - 1); absent below two values.
std::optional<double> SampleStd(const std::vector<double>& values);

/// What Student's t says about the mean of independent values (here: paired differences).
struct TInterval {
  double low = 0, high = 0;  // 95% confidence interval of the mean
  double t = 0;
  int degrees_of_freedom = 0;
  double p = 0;  // two-sided, against a mean of zero
};

/// The 95% interval and the p-value of Student's t with n - 1 degrees of freedom (Student 1908,
/// "The probable error of a mean"). Absent where it says nothing: below two values, and where they
/// do not vary (up to the rounding of doubles), because then t is infinite or 0/0; also where one
/// is not finite.
std::optional<TInterval> StudentT(const std::vector<double>& values);

/// The p-values of one family, adjusted by Holm's step-down method (Holm 1979, "A simple
/// sequentially rejective multiple test procedure"): calling those below 0.05 real is wrong about
/// any of the family with a chance of at most 5%, however they depend on each other. In the order
/// of `p`, none above 1.
std::vector<double> HolmAdjusted(const std::vector<double>& p);

}  // namespace gyre
