// The attention kernels against the specification in double precision: trainer/backend/reference.

#include "trainer/backend/reference/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/trainer/backend/cuda/device_array.h"
#include "trainer/backend/cuda/kernels/kernels.h"

namespace gyre::cuda {
namespace {

struct Case {
  int dim = 64, length = 65, heads = 1, kv_heads = 1, rows = 1;
  int window = 0;
  bool slopes = false;
  int document = 0;   // tokens of a document, about; 0: no documents
  size_t offset = 0;  // elements by which arrays miss their alignment

  int64_t tokens() const { return int64_t{rows} * length; }
  int width() const { return (heads + 2 * kv_heads) * dim; }
};

std::string Name(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  std::string name = "d" + std::to_string(c.dim) + "T" + std::to_string(c.length) + "H" +
                     std::to_string(c.heads) + "K" + std::to_string(c.kv_heads) + "rows" +
                     std::to_string(c.rows);
  if (c.window > 0) name += "window" + std::to_string(c.window);
  if (c.slopes) name += "alibi";
  if (c.document > 0) name += "documents" + std::to_string(c.document);
  if (c.offset > 0) name += "offset" + std::to_string(c.offset);
  return name;
}
void PrintTo(const Case& c, std::ostream* out) { *out << Name({c, 0}); }

double Value(float x) { return x; }
double Value(Bf16 x) { return __bfloat162float(x); }
void Assign(double x, float* y) { *y = static_cast<float>(x); }
void Assign(double x, Bf16* y) { *y = __float2bfloat16_rn(static_cast<float>(x)); }

template <typename Narrow>
std::vector<Narrow> RandomNumbers(int64_t count, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::vector<Narrow> numbers(count);
  for (Narrow& x : numbers) Assign(normal(random), &x);
  return numbers;
}

template <typename Narrow>
std::vector<double> Doubles(const std::vector<Narrow>& numbers) {
  std::vector<double> doubles;
  for (const Narrow x : numbers) doubles.push_back(Value(x));
  return doubles;
}

/// |computed - exact| / |exact|, over columns first .. end of the rows; where the exact ones are
/// all zeros, as gradients of softmax over a single key, per element of ordinary size.
template <typename Narrow>
double RelativeError(const std::vector<Narrow>& computed, const std::vector<double>& exact,
                     int64_t width, int64_t first, int64_t end) {
  double error = 0, size = 0, count = 0;
  for (size_t at = 0; at < exact.size(); ++at) {
    const int64_t column = static_cast<int64_t>(at) % width;
    if (column < first || column >= end) continue;
    error += std::pow(Value(computed[at]) - exact[at], 2);
    size += std::pow(exact[at], 2);
    ++count;
  }
  return std::sqrt(error / (size > 1e-20 * count ? size : count));
}

template <typename Narrow>
struct Inputs {
  explicit Inputs(const Case& c) {
    std::mt19937 random(c.dim * 1000 + c.length);
    qkv = RandomNumbers<Narrow>(c.tokens() * c.width(), random);
    d_output = RandomNumbers<Narrow>(c.tokens() * c.heads * c.dim, random);
    for (int h = 0; h < c.heads && c.slopes; ++h) slopes.push_back(std::exp2(-1.f - h));
    for (int row = 0; row < c.rows && c.document > 0; ++row) {
      for (int i = 0, start = 0; i < c.length; ++i) {
        // One starts at the last key of a tile.
        if (random() % c.document == 0 || i == 63) start = i;
        starts.push_back(start);
      }
    }
  }

  std::vector<Narrow> qkv, d_output;
  std::vector<float> slopes;
  std::vector<int32_t> starts;
};

template <typename Narrow>
struct Outputs {
  std::vector<Narrow> output, d_qkv;
  std::vector<float> log_sum_exp;
};

/// `count` elements at an address that misses its alignment by `offset` of them.
template <typename Element>
class Shifted {
 public:
  Shifted(int64_t count, size_t offset) : array_(count + offset), offset_(offset) {}
  Shifted(std::vector<Element> values, size_t offset)
      : array_(WithMargin(std::move(values), offset)), offset_(offset) {}

  Element* data() const { return array_.data() + offset_; }
  std::vector<Element> Values() const {
    const std::vector<Element> all = array_.Values();
    return {all.begin() + offset_, all.end()};
  }

 private:
  static std::vector<Element> WithMargin(std::vector<Element> values, size_t offset) {
    values.insert(values.begin(), offset, Element{});
    return values;
  }

  DeviceArray<Element> array_;
  size_t offset_;
};

template <typename Narrow>
Outputs<Narrow> Computed(const Case& c, const Inputs<Narrow>& in) {
  const Shifted<Narrow> qkv(in.qkv, c.offset), d_output(in.d_output, c.offset);
  const Shifted<Narrow> output(in.d_output.size(), c.offset), d_qkv(in.qkv.size(), c.offset);
  const DeviceArray<float> slopes(in.slopes), log_sum_exp(c.tokens() * c.heads);
  const DeviceArray<int32_t> starts(in.starts);
  const AttentionShape shape = {
      .rows = c.rows,
      .length = c.length,
      .heads = c.heads,
      .kv_heads = c.kv_heads,
      .head_dim = c.dim,
      .window = c.window,
      .slopes = c.slopes ? slopes.data() : nullptr,
      .document_starts = c.document > 0 ? starts.data() : nullptr,
  };
  const DeviceArray<float> sums(AttentionSums(shape));
  AttentionForward<Narrow>(nullptr, shape, qkv.data(), output.data(), log_sum_exp.data());
  AttentionBackward<Narrow>(nullptr, shape, qkv.data(), output.data(), log_sum_exp.data(),
                            d_output.data(), sums.data(), d_qkv.data());
  return {output.Values(), d_qkv.Values(), log_sum_exp.Values()};
}

struct Exact {
  std::vector<double> output, log_sum_exp, d_qkv;
};

template <typename Narrow>
Exact Specified(const Case& c, Inputs<Narrow> in) {
  std::vector<double> qkv = Doubles(in.qkv), d_output = Doubles(in.d_output);
  std::vector<double> slopes = Doubles(in.slopes);
  Exact exact;
  exact.output.resize(d_output.size());
  exact.log_sum_exp.resize(c.tokens() * c.heads);
  exact.d_qkv.resize(qkv.size());
  Attention op = {.rows = c.rows,
                  .length = c.length,
                  .heads = c.heads,
                  .kv_heads = c.kv_heads,
                  .head_dim = c.dim,
                  .window = c.window,
                  .qkv = {qkv.data()},
                  .output = {exact.output.data()},
                  .log_sum_exp = {exact.log_sum_exp.data()}};
  if (c.slopes) op.alibi_slopes = {slopes.data()};
  if (c.document > 0) op.document_starts = {in.starts.data()};
  reference::AttentionForward<double>(op);
  reference::AttentionBackward<double>(op, {{d_output.data()}, {exact.d_qkv.data()}});
  return exact;
}

template <typename Narrow>
void ExpectAsSpecified(const Case& c, double forward, double log_sum_exp, double backward) {
  const Inputs<Narrow> in(c);
  const Outputs<Narrow> computed = Computed(c, in);
  const Exact exact = Specified(c, in);
  const int64_t width = c.width(), keys = int64_t{c.heads} * c.dim,
                values = keys + int64_t{c.kv_heads} * c.dim;
  EXPECT_LT(RelativeError(computed.output, exact.output, keys, 0, keys), forward);
  for (size_t i = 0; i < exact.log_sum_exp.size(); ++i) {
    ASSERT_NEAR(computed.log_sum_exp[i], exact.log_sum_exp[i], log_sum_exp) << i;
  }
  EXPECT_LT(RelativeError(computed.d_qkv, exact.d_qkv, width, 0, keys), backward) << "dq";
  EXPECT_LT(RelativeError(computed.d_qkv, exact.d_qkv, width, keys, values), backward) << "dk";
  EXPECT_LT(RelativeError(computed.d_qkv, exact.d_qkv, width, values, width), backward) << "dv";
}

class AttentionTest : public testing::TestWithParam<Case> {};

TEST_P(AttentionTest, InBf16) { ExpectAsSpecified<Bf16>(GetParam(), 6e-3, 1e-4, 8e-3); }
TEST_P(AttentionTest, InFloat) { ExpectAsSpecified<float>(GetParam(), 1e-5, 1e-5, 1e-5); }

// Every padded width and what lies between, with dimensions that no vector of 16 bytes divides.
INSTANTIATE_TEST_SUITE_P(
    Dimensions, AttentionTest,
    testing::Values(Case{.dim = 2, .length = 65}, Case{.dim = 6, .length = 64, .heads = 2},
                    Case{.dim = 16, .length = 130}, Case{.dim = 40, .length = 33}, Case{.dim = 64},
                    Case{.dim = 92, .length = 37}, Case{.dim = 96}, Case{.dim = 128, .length = 70},
                    Case{.dim = 200, .length = 34}, Case{.dim = 256, .length = 40}),
    Name);

INSTANTIATE_TEST_SUITE_P(Lengths, AttentionTest,
                         testing::Values(Case{.length = 1}, Case{.length = 7, .rows = 3},
                                         Case{.length = 64}, Case{.dim = 8, .length = 257}),
                         Name);

INSTANTIATE_TEST_SUITE_P(
    Masks, AttentionTest,
    testing::Values(Case{.dim = 8, .length = 130, .window = 1},
                    Case{.dim = 8, .length = 130, .window = 2},
                    Case{.dim = 32, .length = 130, .window = 20},
                    Case{.dim = 16, .length = 200, .window = 100},
                    Case{.dim = 16, .length = 65, .window = 1000},
                    Case{.dim = 16, .length = 80, .heads = 2, .slopes = true},
                    Case{.dim = 16, .length = 130, .rows = 2, .document = 10},
                    Case{.dim = 8, .length = 200, .document = 70},
                    Case{.dim = 64, .length = 140, .window = 40, .slopes = true, .document = 50},
                    Case{.dim = 128, .length = 70, .window = 30, .slopes = true, .document = 40},
                    Case{.dim = 256, .length = 70, .window = 60, .document = 20}),
    Name);

INSTANTIATE_TEST_SUITE_P(
    Heads, AttentionTest,
    testing::Values(Case{.dim = 8, .length = 35, .heads = 3, .kv_heads = 3, .rows = 2},
                    Case{.dim = 8, .length = 35, .heads = 6, .kv_heads = 2, .rows = 2},
                    Case{.dim = 64, .length = 66, .heads = 3, .kv_heads = 1, .slopes = true},
                    Case{.dim = 256, .length = 34, .heads = 2, .kv_heads = 1}),
    Name);

INSTANTIATE_TEST_SUITE_P(Unaligned, AttentionTest,
                         testing::Values(Case{.dim = 32, .length = 40, .offset = 1},
                                         Case{.dim = 64, .length = 33, .offset = 2},
                                         Case{.dim = 16, .length = 33, .heads = 2, .offset = 8}),
                         Name);

// No sum depends on which block or warp came first.
TEST(AttentionBits, AreTheSameEachTime) {
  const Case c = {.dim = 16, .length = 66, .heads = 4, .kv_heads = 2, .document = 60};
  const Inputs<Bf16> in(c);
  const Outputs<Bf16> once = Computed(c, in), again = Computed(c, in);
  EXPECT_EQ(Doubles(once.output), Doubles(again.output));
  EXPECT_EQ(once.log_sum_exp, again.log_sum_exp);
  EXPECT_EQ(Doubles(once.d_qkv), Doubles(again.d_qkv));
}

}  // namespace
}  // namespace gyre::cuda
