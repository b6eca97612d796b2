#include "analysis/residual.h"

#include <cmath>

namespace gyre {

void NormalizeRow(std::span<const float> x, std::span<const float> gain, double epsilon, float* y) {
  double squares = 0;
  for (const float value : x) squares += static_cast<double>(value) * value;
  const auto factor =
      static_cast<float>(1 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon));
  for (size_t i = 0; i < x.size(); ++i) y[i] = gain[i] * (x[i] * factor);
}

std::vector<float> GainOf(std::vector<float> weight, bool adds_one) {
  for (float& value : weight) value += adds_one ? 1.0f : 0.0f;
  return weight;
}

double Capped(double x, double cap) { return cap > 0 ? cap * std::tanh(x / cap) : x; }

double NormOf(std::span<const float> values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares);
}

}  // namespace gyre
