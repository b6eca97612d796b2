#include <limits>

#include "tests/trainer/backend/cuda/made_arrays.h"

namespace gyre::cuda {
namespace {

double NormOf(const std::vector<double>& values, int offset) {
  const Array<float> x(values, offset), norm(1, 0);
  const DeviceArray<double> sums(Norm2Sums());
  Norm2(nullptr, x, static_cast<int64_t>(values.size()), sums.data(), norm);
  return norm.Values()[0];
}

TEST(Flat, Norm2) {
  for (const int64_t count : {0, 1, 3, 4, 1021, 9001}) {
    for (const int offset : {0, 1}) {
      const std::vector<double> values = Random(count, 1);
      double squares = 0;
      for (const double value : values) squares += value * value;
      EXPECT_NEAR(NormOf(values, offset), std::sqrt(squares), 1e-6 * std::sqrt(squares)) << count;
    }
  }
}

TEST(Flat, Norm2OfLargeCount) {
  EXPECT_NEAR(NormOf(std::vector<double>(1200000, 2), 0), 2 * std::sqrt(1.2e6), 1e-3);
}

TEST(Flat, Norm2OfWhatHasNoSquareAndOfWhatIsNotFinite) {
  EXPECT_NEAR(NormOf({3e30, 4e30}, 0), 5e30, 1e24);
  EXPECT_NEAR(NormOf({3e-30, 4e-30}, 0), 5e-30, 1e-36);
  EXPECT_TRUE(std::isinf(NormOf({3e38, 3e38}, 0)));
  std::vector<double> values(1000, 1);
  values[999] = NAN;
  EXPECT_TRUE(std::isnan(NormOf(values, 0)));
}

struct Step {
  Step(int64_t count, int offset)
      : gradient(Random(count, 1), offset),
        weight(Random(count, 2), offset),
        m(Random(count, 3), offset),
        v(Squares(Random(count, 4)), offset),
        narrow(count, offset) {}
  static std::vector<double> Squares(std::vector<double> x) {
    for (double& value : x) value *= value;
    return x;
  }
  AdamWArrays Arrays(const float* norm, bool with_narrow) const {
    return {gradient, norm, weight, m, v, with_narrow ? narrow.data() : nullptr};
  }
  Array<float> gradient, weight, m, v;
  Array<Bf16> narrow;
};

// With clipping if the clipped norm is below the gradient's, 20.
void Check(int64_t count, int offset, double clip_norm, bool with_narrow) {
  const AdamW op = {.count = count,
                    .step = 7,
                    .lr = 0.01,
                    .beta1 = 0.9,
                    .beta2 = 0.95,
                    .epsilon = 1e-8,
                    .weight_decay = 0.1,
                    .clip_norm = clip_norm,
                    .gradient_scale = 0.25};
  const Step step(count, offset);
  const Array<float> norm(std::vector<double>{80}, 0);
  const std::vector<double> g = step.gradient.Values();
  std::vector<double> m = step.m.Values(), v = step.v.Values(), w = step.weight.Values();
  const double scale = 0.25 * (clip_norm > 0 && clip_norm < 20 ? clip_norm / 20 : 1);
  for (int64_t i = 0; i < count; ++i) {
    m[i] = 0.9 * m[i] + 0.1 * scale * g[i];
    v[i] = 0.95 * v[i] + 0.05 * scale * scale * g[i] * g[i];
    const double direction =
        m[i] / (1 - std::pow(0.9, 7)) / (std::sqrt(v[i] / (1 - std::pow(0.95, 7))) + 1e-8);
    w[i] -= 0.01 * (direction + 0.1 * w[i]);
  }
  AdamWUpdate(nullptr, op, step.Arrays(norm, with_narrow));
  const std::string what = std::to_string(count) + ", offset " + std::to_string(offset);
  ExpectClose(step.m.Values(), m, 1e-6, what);
  ExpectClose(step.v.Values(), v, 1e-6, what);
  ExpectClose(step.weight.Values(), w, 1e-6, what);
  if (!with_narrow) return;
  const std::vector<double> weights = step.weight.Values();
  std::vector<double> rounded;
  for (const double value : weights) rounded.push_back(ToDouble(ToNarrow(value, Bf16{})));
  EXPECT_EQ(step.narrow.Values(), rounded) << what;
}

TEST(Flat, AdamW) {
  for (const int64_t count : {0, 1, 3, 8, 1023, 4100}) {
    Check(count, 0, 0, true);
    Check(count, 1, 1, false);
    Check(count, 0, 1, true);
    Check(count, 0, 50, false);
  }
}

TEST(Flat, ANormThatIsNotFiniteMakesEveryWeightNaN) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const Step step(101, 0);
    const Array<float> norm(std::vector<double>{bad}, 0);
    const AdamW op = {.count = 101, .lr = 0.01, .beta1 = 0.9, .beta2 = 0.95, .clip_norm = 1};
    AdamWUpdate(nullptr, op, step.Arrays(norm, true));
    EXPECT_EQ(CountNaN(step.weight.Values()), 101);
    EXPECT_EQ(CountNaN(step.narrow.Values()), 101);
  }
}

}  // namespace
}  // namespace gyre::cuda
