#include "tests/trainer/backend/cuda/made_arrays.h"

namespace gyre::cuda {
namespace {

struct Shape {
  int64_t rows;
  int width;
  int offset;  // of all arrays, in elements
};
constexpr Shape kShapes[] = {{5, 8, 0},  {9, 64, 0},   {3, 63, 0},   {7, 1, 0}, {2, 2, 3},
                             {4, 72, 1}, {3, 2064, 0}, {2, 1100, 1}, {0, 8, 0}};
// Sums for the gradient of weights that no shared memory holds.
constexpr Shape kWide = {2, 24580, 0};

std::string Text(const Shape& s) {
  return std::to_string(s.rows) + " rows of " + std::to_string(s.width) + ", offset " +
         std::to_string(s.offset);
}

// What a norm is made of, and what it gives, in doubles.
struct Normed {
  Normed(const Shape& shape, const NormKind& kind)
      : x(Random(shape.rows * shape.width, 1, 2)),
        weight(Random(shape.width, 2)),
        dy(Random(shape.rows * shape.width, 3)),
        dx_before(Random(shape.rows * shape.width, 4)),
        d_weight(Random(shape.width, 5)),
        d_weight_before(d_weight),
        y(x.size()),
        dx(x.size()) {
    for (int64_t row = 0; row < shape.rows; ++row) {
      const int64_t first = row * shape.width;
      double squares = 0, along = 0;
      for (int c = 0; c < shape.width; ++c) squares += x[first + c] * x[first + c];
      const double inverse = 1 / std::sqrt(squares / shape.width + kind.epsilon);
      inverse_rms.push_back(inverse);
      const auto gain = [&](int c) { return weight[c] + (kind.one_plus ? 1 : 0); };
      for (int c = 0; c < shape.width; ++c) along += dy[first + c] * gain(c) * x[first + c];
      for (int c = 0; c < shape.width; ++c) {
        const double pull = along * inverse * inverse / shape.width;
        y[first + c] = gain(c) * x[first + c] * inverse;
        dx[first + c] = inverse * (gain(c) * dy[first + c] - pull * x[first + c]);
        d_weight[c] += dy[first + c] * x[first + c] * inverse;
      }
    }
  }

  std::vector<double> x, weight, dy, dx_before, d_weight, d_weight_before, y, dx, inverse_rms;
};

template <typename Narrow>
class NormTest : public ::testing::Test {};
TYPED_TEST_SUITE(NormTest, NarrowTypes);

TYPED_TEST(NormTest, ForwardAndAgain) {
  for (const Shape& shape : kShapes) {
    for (const bool one_plus : {false, true}) {
      const NormKind kind = {1e-3, one_plus};
      const Normed expected(shape, kind);
      const Array<float> x(expected.x, shape.offset), weight(expected.weight, shape.offset);
      const Array<float> inverse_rms(shape.rows, shape.offset);
      const int64_t count = shape.rows * shape.width;
      const Array<TypeParam> y(count, shape.offset), again(count, shape.offset);
      const NormRows rows = {x, weight, shape.rows, shape.width, kind};
      Normalize(nullptr, rows, y.data(), inverse_rms);
      NormalizeAgain(nullptr, rows, inverse_rms, again.data());
      ExpectClose(y.Values(), expected.y, kTolerance<TypeParam>, Text(shape));
      ExpectClose(inverse_rms.Values(), expected.inverse_rms, 1e-5, Text(shape));
      EXPECT_EQ(again.Values(), y.Values()) << Text(shape);
    }
  }
}

void Backward(const Shape& shape, bool one_plus, bool add) {
  // So large that a row of one number has a gradient too.
  const NormKind kind = {0.5, one_plus};
  Normed expected(shape, kind);
  const Array<float> x(expected.x, shape.offset), weight(expected.weight, shape.offset);
  const Array<float> inverse_rms(expected.inverse_rms, 0), dy(expected.dy, shape.offset);
  const Array<float> dx(expected.dx_before, shape.offset);
  const Array<float> d_weight(expected.d_weight_before, shape.offset);
  const Array<float> sums(NormSums(shape.rows, shape.width), 0);
  const NormRows rows = {x, weight, shape.rows, shape.width, kind};
  NormalizeBackward(nullptr, rows, inverse_rms, dy, add, dx, sums, d_weight);
  for (size_t i = 0; add && i < expected.dx.size(); ++i) expected.dx[i] += expected.dx_before[i];
  ExpectClose(dx.Values(), expected.dx, 1e-5, Text(shape));
  ExpectClose(d_weight.Values(), expected.d_weight, 1e-5, Text(shape));
}

TEST(Norm, Backward) {
  for (const Shape& shape : kShapes) {
    Backward(shape, /*one_plus=*/false, /*add=*/false);
    Backward(shape, /*one_plus=*/true, /*add=*/true);
  }
}

TEST(Norm, LargeNumbersOfRowsAndColumnsBackward) {
  Backward({9000, 4, 0}, /*one_plus=*/false, /*add=*/false);  // more than blocks
  Backward(kWide, /*one_plus=*/false, /*add=*/true);
}

TEST(Norm, NothingHidesWhatIsNotFinite) {
  std::vector<double> x(4 * 8, 1);
  x[8 + 3] = NAN;
  x[16] = 1e30;  // its square is no float: all of the row would be zero
  const Array<float> in(x, 0), weight(std::vector<double>(8, 1), 0), inverse_rms(4, 0);
  const Array<Bf16> y(4 * 8, 0);
  Normalize(nullptr, {in, weight, 4, 8, {}}, y.data(), inverse_rms);
  EXPECT_EQ(CountNaN(y.Values()), 2 * 8);
  EXPECT_EQ(CountNaN(inverse_rms.Values()), 2);
}

}  // namespace
}  // namespace gyre::cuda
