#pragma once

// Numbers of the operations' cases: the same ones each time, and such that every backend starts
// from them.

#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"

namespace gyre {

/// Rounded to float.
inline std::vector<double> Normals(const std::string& purpose, int64_t count, double scale = 1,
                                   double mean = 0) {
  const Random random(7, purpose);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(mean + scale * random.Normal(0, i)));
  }
  return values;
}

/// Rounded to bfloat16, of eight significant bits.
inline std::vector<double> NarrowNormals(const std::string& purpose, int64_t count) {
  std::vector<double> values = Normals(purpose, count);
  for (double& value : values) {
    int exponent = 0;
    const double mantissa = std::frexp(value, &exponent);
    value = std::ldexp(std::nearbyint(std::ldexp(mantissa, 8)), exponent - 8);
  }
  return values;
}

inline std::vector<int32_t> Below(const std::string& purpose, int64_t count, int n,
                                  int lowest = 0) {
  const Random random(7, purpose);
  std::vector<int32_t> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(lowest + static_cast<int32_t>(random.Below(n - lowest, 0, i)));
  }
  return values;
}

}  // namespace gyre
