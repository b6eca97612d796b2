#include <limits>

#include "tests/trainer/backend/cuda/made_arrays.h"

namespace gyre::cuda {
namespace {

struct Shape {
  int64_t rows;
  int vocab, stride;
  double size = 3;  // of logits
  int offset = 0;
};
constexpr Shape kShapes[] = {{5, 1, 1},           {3, 5, 16},      {9, 16, 16},
                             {4, 100, 112, 1000}, {2, 1003, 1003}, {2, 1003, 1008},
                             {2, 601, 601, 3, 1}, {2, 7001, 7008}, {0, 5, 16}};

struct Exact {
  Exact(const std::vector<double>& logits, const std::vector<int32_t>& targets, const Shape& s)
      : gradient(logits.size()) {
    for (int64_t row = 0; row < s.rows; ++row) {
      const double* from = logits.data() + row * s.stride;
      const int target = targets[row];
      double largest = from[0], sum = 0;
      for (int c = 0; c < s.vocab; ++c) largest = std::max(largest, from[c]);
      for (int c = 0; c < s.vocab; ++c) sum += std::exp(from[c] - largest);
      nll.push_back(target < 0 ? 0 : std::log(sum) + largest - from[target]);
      for (int c = 0; c < s.vocab && target >= 0; ++c) {
        gradient[row * s.stride + c] = std::exp(from[c] - largest) / sum - (c == target ? 1 : 0);
      }
    }
  }
  std::vector<double> nll, gradient;
};

// Some ignored, some at the ends.
std::vector<int32_t> Targets(const Shape& s) {
  std::vector<int32_t> targets;
  for (int64_t row = 0; row < s.rows; ++row) {
    const int32_t some[] = {0, s.vocab - 1, -1, s.vocab / 2};
    targets.push_back(some[row % 4]);
  }
  return targets;
}

// What lies beyond vocab counts for nothing, whatever it is.
std::vector<double> Logits(const Shape& s) {
  std::vector<double> logits = Random(s.rows * s.stride, 1, s.size);
  for (int64_t row = 0; row < s.rows; ++row) {
    for (int c = s.vocab; c < s.stride; ++c) logits[row * s.stride + c] = NAN;
  }
  return logits;
}

template <typename Narrow>
class CrossEntropyTest : public ::testing::Test {
 protected:
  void Check(const Shape& s) {
    const std::string what = std::to_string(s.vocab) + " of " + std::to_string(s.stride);
    const std::vector<double> made = Logits(s);
    const std::vector<int32_t> targets = Targets(s);
    const Exact exact(made, targets, s);
    const Array<float> logits(made, s.offset), nll(s.rows, 0), again(s.rows, 0);
    const DeviceArray<int32_t> target(targets);
    const Array<Narrow> d_logits(s.rows * s.stride, s.offset);
    const LogitRows in = {logits, s.stride, s.rows, s.vocab, target.data()};
    CrossEntropy(nullptr, in, nll);
    ExpectClose(nll.Values(), exact.nll, 1e-5, what);
    CrossEntropyGradient(nullptr, in, d_logits.data(), again);
    ExpectClose(again.Values(), exact.nll, 1e-5, what);
    ExpectClose(d_logits.Values(), exact.gradient, kTolerance<Narrow>, what);
    if constexpr (std::is_same_v<Narrow, float>) {
      CrossEntropyGradient(nullptr, in, logits.data(), again);
      EXPECT_EQ(logits.Values(), d_logits.Values()) << what << ", in place";
    }
  }
};
TYPED_TEST_SUITE(CrossEntropyTest, NarrowTypes);

TYPED_TEST(CrossEntropyTest, ValueAndGradient) {
  for (const Shape& shape : kShapes) this->Check(shape);
}

TYPED_TEST(CrossEntropyTest, LargeVocabulary) { this->Check({2, 256000, 256000}); }

TEST(CrossEntropy, WhatIsNotFinite) {
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<double> values(4 * 16, 1);
  values[3] = -inf;  // a probability of zero
  values[16 + 4] = NAN;
  values[32 + 5] = inf;
  values[48 + 6] = NAN;  // ignored
  const Array<float> logits(values, 0), nll(4, 0);
  const DeviceArray<int32_t> targets(std::vector<int32_t>{1, 1, 1, -1});
  const Array<Bf16> d_logits(4 * 16, 0);
  CrossEntropyGradient(nullptr, {logits, 16, 4, 16, targets.data()}, d_logits.data(), nll);
  const std::vector<double> losses = nll.Values();
  EXPECT_NEAR(losses[0], std::log(15), 1e-5);
  EXPECT_TRUE(std::isnan(losses[1]));
  EXPECT_TRUE(std::isnan(losses[2]));
  EXPECT_EQ(losses[3], 0);
  EXPECT_EQ(CountNaN(d_logits.Values()), 2 * 16);
}

}  // namespace
}  // namespace gyre::cuda
