#include <limits>
#include <numbers>

#include "tests/trainer/backend/cuda/made_arrays.h"

namespace gyre::cuda {
namespace {

struct ValueAndSlope {
  double value, slope;
};

ValueAndSlope Exact(Activation activation, double z) {
  if (activation == Activation::kSilu) {
    const double sigmoid = 1 / (1 + std::exp(-z));
    return {z * sigmoid, sigmoid * (1 + z * (1 - sigmoid))};
  }
  const double a = std::sqrt(2 / std::numbers::pi), b = 0.044715;
  const double t = std::tanh(a * (z + b * z * z * z));
  return {0.5 * z * (1 + t), 0.5 * (1 + t) + 0.5 * z * (1 - t * t) * a * (1 + 3 * b * z * z)};
}

struct Shape {
  int64_t rows;
  int inner;
  int offset;
};
constexpr Shape kShapes[] = {{3, 1, 0},    {5, 24, 0}, {4, 100, 0}, {2, 1000, 0},
                             {2, 1029, 0}, {67, 8, 0}, {9, 40, 1},  {0, 8, 0}};

template <typename Narrow>
class ActivationTest : public ::testing::Test {
 protected:
  void Check(const ActivatedRows& in, const Shape& shape) {
    const int64_t count = in.rows * in.inner;
    const int64_t width = int64_t{in.gated ? 2 : 1} * in.inner;
    const Array<Narrow> gate_up(Random(in.rows * width, 1, 3), shape.offset);
    const Array<Narrow> d_activated(Random(count, 2), shape.offset);
    const std::vector<double> from = gate_up.Values(), d = d_activated.Values();
    std::vector<double> activated(count), d_gate_up(in.rows * width);
    for (int64_t row = 0; row < in.rows; ++row) {
      for (int c = 0; c < in.inner; ++c) {
        const int64_t at = row * in.inner + c, gate = row * width + c, up = gate + in.inner;
        const ValueAndSlope z = Exact(in.activation, from[gate]);
        activated[at] = z.value * (in.gated ? from[up] : 1);
        d_gate_up[gate] = d[at] * z.slope * (in.gated ? from[up] : 1);
        if (in.gated) d_gate_up[up] = d[at] * z.value;
      }
    }
    const std::string what = std::to_string(in.rows) + " x " + std::to_string(in.inner) +
                             (in.gated ? " gated" : "") + ", offset " +
                             std::to_string(shape.offset);
    const Array<Narrow> out(count, shape.offset), d_out(in.rows * width, shape.offset);
    Activate(nullptr, in, gate_up.data(), out.data());
    ExpectClose(out.Values(), activated, kTolerance<Narrow>, what);
    ActivateBackward(nullptr, in, gate_up.data(), d_activated.data(), d_out.data(),
                     d_activated.data());
    ExpectClose(d_activated.Values(), activated, kTolerance<Narrow>, what + ", again");
    ExpectClose(d_out.Values(), d_gate_up, kTolerance<Narrow>, what + ", backward");
  }
};
TYPED_TEST_SUITE(ActivationTest, NarrowTypes);

TYPED_TEST(ActivationTest, ForwardAndBackward) {
  for (const Shape& shape : kShapes) {
    for (const bool gated : {false, true}) {
      for (const Activation activation : {Activation::kSilu, Activation::kGeluTanh}) {
        this->Check({activation, gated, shape.rows, shape.inner}, shape);
      }
    }
  }
}

TEST(Activation, FarFromZeroAndNotFinite) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> z = {-1e10, -200, -88, -20, 20, 88, 200, 1e10, NAN, inf, -inf};
  for (const Activation activation : {Activation::kSilu, Activation::kGeluTanh}) {
    const ActivatedRows in = {activation, false, 1, static_cast<int>(z.size())};
    const Array<float> from(z, 0), activated(std::vector<double>(z.size(), 1), 0);
    const Array<float> d(in.inner, 0);
    ActivateBackward(nullptr, in, from.data(), activated.data(), d.data(), activated.data());
    const std::vector<double> y = activated.Values(), slope = d.Values();
    for (size_t i = 0; i < 8; ++i) {
      const double limit = z[i] < 0 ? 0 : z[i];
      EXPECT_NEAR(y[i], limit, 1e-6 * std::abs(limit) + 1e-6) << z[i];
      EXPECT_NEAR(slope[i], z[i] < 0 ? 0 : 1, 1e-6) << z[i];
    }
    for (size_t i = 8; i < z.size(); ++i) EXPECT_FALSE(std::isfinite(y[i])) << z[i];
    for (size_t i = 8; i < z.size(); ++i) EXPECT_FALSE(std::isfinite(slope[i])) << z[i];
  }
}

}  // namespace
}  // namespace gyre::cuda
