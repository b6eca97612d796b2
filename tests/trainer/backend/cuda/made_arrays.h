#pragma once

// Numbers for tests of kernels, at addresses of any alignment, and how results are compared with
// loops over doubles.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/trainer/backend/cuda/device_array.h"
#include "trainer/backend/cuda/kernels/kernels.h"

namespace gyre::cuda {

using NarrowTypes = ::testing::Types<float, Bf16>;

/// How far a result may be from the exact one, as a part of the largest.
template <typename Narrow>
constexpr double kTolerance = std::is_same_v<Narrow, float> ? 1e-5 : 0x1p-8;

/// The same for the same seed.
inline std::vector<double> Random(int64_t count, unsigned seed, double size = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<double> values(count);
  for (double& value : values) value = static_cast<float>(size) * normal(random);
  return values;
}

inline float ToNarrow(double value, float) { return static_cast<float>(value); }
inline Bf16 ToNarrow(double value, Bf16) { return __float2bfloat16_rn(static_cast<float>(value)); }
inline double ToDouble(float value) { return value; }
inline double ToDouble(Bf16 value) { return __bfloat162float(value); }

/// `offset` elements beyond an aligned address.
template <typename Element>
class Array {
 public:
  Array(const std::vector<double>& values, int64_t offset)
      : offset_(offset), array_(Elements(values, offset)) {}
  /// Not initialized.
  Array(int64_t count, int64_t offset) : offset_(offset), array_(count + offset) {}

  Element* data() const { return array_.data() + offset_; }
  operator Element*() const { return data(); }  // NOLINT: as kernels take it
  std::vector<double> Values() const {
    std::vector<double> values;
    for (const Element element : array_.Values()) values.push_back(ToDouble(element));
    values.erase(values.begin(), values.begin() + offset_);
    return values;
  }

 private:
  static std::vector<Element> Elements(const std::vector<double>& values, int64_t offset) {
    std::vector<Element> elements(offset, ToNarrow(0, Element{}));
    for (const double value : values) elements.push_back(ToNarrow(value, Element{}));
    return elements;
  }

  int64_t offset_;
  DeviceArray<Element> array_;
};

/// As far apart as `tolerance` times the largest number expected.
inline void ExpectClose(const std::vector<double>& actual, const std::vector<double>& expected,
                        double tolerance, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < expected.size(); ++i) {
    // Written so that NaN fails.
    ASSERT_TRUE(std::abs(actual[i] - expected[i]) <= tolerance * largest)
        << what << ", number " << i << " of " << expected.size() << ": " << actual[i]
        << ", expected " << expected[i];
  }
}

inline int CountNaN(const std::vector<double>& values) {
  return static_cast<int>(
      std::count_if(values.begin(), values.end(), [](double x) { return std::isnan(x); }));
}

}  // namespace gyre::cuda
