#pragma once

// Plain loops over rows of the residual stream.

#include <cstdint>
#include <span>
#include <vector>

namespace gyre {

/// y = g x / sqrt(mean(x^2) + epsilon) of one row; y may be x. `gain` is what x is multiplied with,
/// 1 + weight where the family has it so.
void NormalizeRow(std::span<const float> x, std::span<const float> gain, double epsilon, float* y);

/// The gain of a norm with this weight.
std::vector<float> GainOf(std::vector<float> weight, bool adds_one);

/// cap tanh(x / cap); x where there is no cap (0).
double Capped(double x, double cap);

/// The 2-norm.
double NormOf(std::span<const float> values);

}  // namespace gyre
