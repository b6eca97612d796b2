#include <functional>
#include <numeric>

#include "tests/trainer/backend/cuda/made_arrays.h"

namespace gyre::cuda {
namespace {

struct Case {
  const char* name;
  int head_dim;
  std::function<RotatedPairs(int head_dim)> pairs;
  int heads = 3, kv_heads = 2;
  int64_t rows = 2;
  int length = 7;
  int offset = 0;
};

void Add(int a, int b, int column, RotatedPairs* pairs) {
  pairs->a[pairs->count] = static_cast<uint8_t>(a);
  pairs->b[pairs->count] = static_cast<uint8_t>(b);
  pairs->pair[pairs->count++] = static_cast<uint8_t>(column);
}

RotatedPairs Halves(int d) {
  RotatedPairs pairs;
  for (int i = 0; i < d / 2; ++i) Add(i, i + d / 2, i, &pairs);
  return pairs;
}
RotatedPairs Neighbours(int d) {
  RotatedPairs pairs;
  for (int i = 0; i < d / 2; ++i) Add(2 * i, 2 * i + 1, i, &pairs);
  return pairs;
}
// Halves of the first quarter, columns from the end.
RotatedPairs Partial(int d) {
  RotatedPairs pairs;
  for (int i = 0; i < d / 8; ++i) Add(i, i + d / 8, d / 2 - 1 - i, &pairs);
  return pairs;
}
// Coordinates far apart in no order; some stay.
RotatedPairs Scattered(int d) {
  std::vector<int> order(d);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  RotatedPairs pairs;
  for (int i = 0; i < d / 2 - 1; ++i) Add(order[2 * i], order[2 * i + 1], i, &pairs);
  return pairs;
}
RotatedPairs None(int) { return {}; }

const Case kCases[] = {
    {"halves 64", 64, Halves},
    {"neighbours 64", 64, Neighbours},
    {"partial 64", 64, Partial},
    {"scattered 64", 64, Scattered},
    {"none 16", 16, None},
    {"halves 256", 256, Halves, 2, 1, 1, 3},
    {"scattered 250", 250, Scattered, 1, 1, 1, 5},
    {"halves 6", 6, Halves},
    {"halves 80", 80, Halves, 4, 4, 1, 9},
    {"neighbours 12", 12, Neighbours, 5, 1, 1, 40},
    {"halves 32, unaligned", 32, Halves, 2, 2, 2, 3, 1},
    {"neighbours 2", 2, Neighbours},
    {"no tokens", 16, Halves, 2, 2, 0, 3},
};

// A case in doubles, and its arguments.
template <typename Narrow>
struct Heads {
  explicit Heads(const Case& c)
      : c(c),
        tokens(c.rows * c.length),
        width(int64_t{c.heads + 2 * c.kv_heads} * c.head_dim),
        turned(c.heads + c.kv_heads),
        pairs(c.pairs(c.head_dim)),
        columns(c.head_dim / 2),
        angles(Random(int64_t{c.length} * columns, 7, 2)),
        cosine(Map(angles, [](double x) { return std::cos(x); }), 0),
        sine(Map(angles, [](double x) { return std::sin(x); }), 0),
        qkv(Random(tokens * width, 1, 2), c.offset),
        q_norm(Random(c.head_dim, 2), 0),
        k_norm(Random(c.head_dim, 3), 0) {}

  static std::vector<double> Map(std::vector<double> x, double (*f)(double)) {
    for (double& value : x) value = f(value);
    return x;
  }
  RotatedHeads Arguments() const {
    return {tokens, c.length, c.heads, c.kv_heads, c.head_dim, pairs, cosine, sine, columns};
  }
  HeadNorms Norms() const { return {q_norm, k_norm, kEpsilon}; }

  void Turn(int64_t token, bool back, double* head) const {
    const std::vector<double> x(head, head + c.head_dim);
    for (int i = 0; i < pairs.count; ++i) {
      const double angle = angles[token % c.length * columns + pairs.pair[i]];
      const double cosine = std::cos(angle), sine = std::sin(back ? -angle : angle);
      head[pairs.a[i]] = x[pairs.a[i]] * cosine - x[pairs.b[i]] * sine;
      head[pairs.b[i]] = x[pairs.b[i]] * cosine + x[pairs.a[i]] * sine;
    }
  }
  // Calls visit(token, head, the head's numbers in qkv).
  template <typename Visit>
  void ForHeads(std::vector<double>* values, const Visit& visit) const {
    for (int64_t token = 0; token < tokens; ++token) {
      for (int head = 0; head < turned; ++head) {
        visit(token, head, values->data() + token * width + int64_t{head} * c.head_dim);
      }
    }
  }
  double InverseRms(const double* x) const {
    double squares = 0;
    for (int i = 0; i < c.head_dim; ++i) squares += x[i] * x[i];
    return 1 / std::sqrt(squares / c.head_dim + kEpsilon);
  }

  static constexpr double kEpsilon = 1e-3;
  const Case& c;
  int64_t tokens, width;
  int turned;
  RotatedPairs pairs;
  int columns;
  std::vector<double> angles;
  Array<float> cosine, sine;
  Array<Narrow> qkv;
  Array<float> q_norm, k_norm;
};

template <typename Narrow>
class RotationTest : public ::testing::Test {};
TYPED_TEST_SUITE(RotationTest, NarrowTypes);

template <typename Narrow>
void Check(const Case& c, bool back) {
  const Heads<Narrow> heads(c);
  std::vector<double> expected = heads.qkv.Values();
  heads.ForHeads(&expected, [&](int64_t token, int, double* x) { heads.Turn(token, back, x); });
  Rotate(nullptr, heads.Arguments(), back, heads.qkv.data());
  ExpectClose(heads.qkv.Values(), expected, kTolerance<Narrow>, c.name);
}

TYPED_TEST(RotationTest, TurnsAndTurnsBack) {
  for (const Case& c : kCases) {
    Check<TypeParam>(c, /*back=*/false);
    Check<TypeParam>(c, /*back=*/true);
  }
}

TYPED_TEST(RotationTest, LargeNumberOfTokens) {
  Check<TypeParam>({"more than warps", 4, Halves, 1, 1, 3, 3001}, /*back=*/false);
}

TYPED_TEST(RotationTest, WithNorms) {
  for (const Case& c : kCases) {
    const Heads<TypeParam> heads(c);
    std::vector<double> expected = heads.qkv.Values(), raw, inverse_rms;
    const std::vector<double> q_norm = heads.q_norm.Values(), k_norm = heads.k_norm.Values();
    heads.ForHeads(&expected, [&](int64_t token, int head, double* x) {
      raw.insert(raw.end(), x, x + c.head_dim);
      inverse_rms.push_back(heads.InverseRms(x));
      for (int i = 0; i < c.head_dim; ++i) {
        x[i] *= inverse_rms.back() * (head < c.heads ? q_norm : k_norm)[i];
      }
      heads.Turn(token, /*back=*/false, x);
    });
    const int64_t count = heads.tokens * heads.turned;
    const Array<TypeParam> raw_qk(count * c.head_dim, c.offset);
    const Array<float> rms(count, 0);
    NormAndRotate(nullptr, heads.Arguments(), heads.Norms(), heads.qkv.data(), raw_qk.data(), rms);
    ExpectClose(heads.qkv.Values(), expected, kTolerance<TypeParam>, c.name);
    EXPECT_EQ(raw_qk.Values(), raw) << c.name;
    ExpectClose(rms.Values(), inverse_rms, 1e-5, c.name);
  }
}

TYPED_TEST(RotationTest, WithNormsBackward) {
  for (const Case& c : kCases) {
    const Heads<TypeParam> heads(c);
    const int64_t count = heads.tokens * heads.turned;
    const Array<TypeParam> raw_qk(Random(count * c.head_dim, 8), c.offset);
    const std::vector<double> raw = raw_qk.Values(),
                              gains[] = {heads.q_norm.Values(), heads.k_norm.Values()};
    std::vector<double> expected = heads.qkv.Values(), inverse_rms;
    std::vector<double> d_gains[] = {Random(c.head_dim, 9), Random(c.head_dim, 10)};
    const Array<float> d_q_norm(d_gains[0], 0), d_k_norm(d_gains[1], 0);
    heads.ForHeads(&expected, [&](int64_t token, int head, double* d) {
      const double* x = raw.data() + inverse_rms.size() * c.head_dim;
      const double inverse = heads.InverseRms(x);
      inverse_rms.push_back(inverse);
      heads.Turn(token, /*back=*/true, d);
      const std::vector<double>& gain = gains[head < c.heads ? 0 : 1];
      double along = 0;
      for (int i = 0; i < c.head_dim; ++i) along += d[i] * gain[i] * x[i];
      for (int i = 0; i < c.head_dim; ++i) {
        d_gains[head < c.heads ? 0 : 1][i] += d[i] * x[i] * inverse;
        d[i] = inverse * (gain[i] * d[i] - along * inverse * inverse / c.head_dim * x[i]);
      }
    });
    const Array<float> rms(inverse_rms, 0), sums(HeadNormSums(heads.Arguments()), 0);
    NormAndRotateBackward(nullptr, heads.Arguments(), heads.Norms(), raw_qk.data(), rms.data(),
                          heads.qkv.data(), sums, d_q_norm, d_k_norm);
    ExpectClose(heads.qkv.Values(), expected, kTolerance<TypeParam>, c.name);
    ExpectClose(d_q_norm.Values(), d_gains[0], 1e-5, c.name);
    ExpectClose(d_k_norm.Values(), d_gains[1], 1e-5, c.name);
  }
}

TEST(Rotation, NothingHidesWhatIsNotFinite) {
  const Case c = {"halves 16", 16, Halves, 1, 1, 1, 2};
  const Heads<float> heads(c);
  std::vector<double> values = heads.qkv.Values();
  values[3] = NAN;         // token 0, q
  values[48 + 16] = 1e30;  // token 1, k: its square is no float
  const Array<float> qkv(values, 0), raw_qk(2 * 32, 0), rms(4, 0);
  NormAndRotate(nullptr, heads.Arguments(), heads.Norms(), qkv.data(), raw_qk.data(), rms);
  EXPECT_EQ(CountNaN(qkv.Values()), 2 * 16);
  EXPECT_EQ(CountNaN(rms.Values()), 2);
}

}  // namespace
}  // namespace gyre::cuda
