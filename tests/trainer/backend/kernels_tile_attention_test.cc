// Attention of a strip of queries on tiles, forward and backward, against loops in double
// precision. What is random is seeded.

#include <algorithm>
#include <cmath>

#include "tests/trainer/backend/packed_tiles.h"

namespace gyre::cpu {
namespace {

constexpr double kNarrowing = 0x1p-8;

// Rows without gaps; of the queries, all but the last see fewer keys than there are.
struct StripCase {
  StripCase(int dim, int key_count, int seen, float alibi)
      : head_dim(dim), keys(key_count), window(seen), slope(alibi) {
    for (int i = 0; i < kTileStrip; ++i) {
      first[i] = window > 0 ? std::max(0, keys - kTileStrip + i + 1 - window) : 0;
    }
  }

  QueryStrip Strip(const Bf16* key_columns, float* log_sum_exp) const {
    return {.head_dim = head_dim,
            .keys = keys,
            .queries = q.data(),
            .stride = head_dim,
            .key_columns = key_columns,
            .log_sum_exp = log_sum_exp,
            .log_stride = 1,
            .first = first,
            .last = keys - kTileStrip,
            .scale = kScale,
            .slope = slope};
  }
  bool Sees(int i, int key) const { return key >= first[i] && key <= keys - kTileStrip + i; }
  double Product(const Guarded<Bf16>& a, int i, const Guarded<Bf16>& b, int key) const {
    double sum = 0;
    for (int c = 0; c < head_dim; ++c) sum += double{a[i * head_dim + c]} * b[key * head_dim + c];
    return sum;
  }
  double Logit(int i, int key) const {
    return double{kScale} * Product(q, i, k, key) - double{slope} * (keys - kTileStrip + i - key);
  }
  double LogSum(int i) const {
    double sum = 0;
    for (int key = 0; key < keys; ++key) sum += Sees(i, key) ? std::exp(Logit(i, key)) : 0;
    return std::log(sum);
  }
  double P(int i, int key, double log_sum) const {
    return Sees(i, key) ? std::exp(Logit(i, key) - log_sum) : 0;
  }

  static constexpr float kScale = 0.15f;
  int head_dim, keys, window;
  float slope;
  int first[kTileStrip] = {};
  Guarded<Bf16> q = RandomNumbers<Bf16>(int64_t{kTileStrip} * head_dim);
  Guarded<Bf16> k = RandomNumbers<Bf16>(int64_t{keys} * head_dim);
  Guarded<Bf16> v = RandomNumbers<Bf16>(int64_t{keys} * head_dim, -1, 3);
  Guarded<Bf16> d_output = RandomNumbers<Bf16>(int64_t{kTileStrip} * head_dim, -1, 1);
};

class TileAttentionTest : public TilesTest {
 protected:
  template <typename Check>
  static void ForAll(const Check& check) {
    for (const auto& [head_dim, keys] : {std::pair{32, 32}, {64, 160}, {96, 64}}) {
      for (const int window : {0, 1, 20}) {
        for (const float slope : {0.0f, 0.25f}) {
          SCOPED_TRACE(testing::Message() << head_dim << " by " << keys << " keys, window "
                                          << window << ", slope " << slope);
          check(StripCase(head_dim, keys, window, slope));
        }
      }
    }
  }
  Guarded<Bf16> Rows(const Guarded<Bf16>& x, const StripCase& c) const {
    Guarded<Bf16> packed = Unwritten(x.size());
    tiles_.pack_rows(x.data(), c.head_dim, c.keys, c.head_dim, 0, c.keys, packed.data());
    return packed;
  }
  Guarded<Bf16> Columns(const Guarded<Bf16>& x, const StripCase& c) const {
    Guarded<Bf16> packed = Unwritten(x.size());
    tiles_.pack_columns(x.data(), c.head_dim, c.keys, c.head_dim, packed.data());
    return packed;
  }
};

TEST_F(TileAttentionTest, Forward) {
  ForAll([&](const StripCase& c) {
    const Guarded<Bf16> keys = Columns(c.k, c), values = Rows(c.v, c);
    Guarded<float> log_sum(kTileStrip), scores(kTileStrip * c.keys);
    Guarded<Bf16> probabilities(kTileStrip * c.keys), output(kTileStrip * c.head_dim);
    tiles_.attend({.strip = c.Strip(keys.data(), log_sum.data()),
                   .value_rows = values.data(),
                   .depth = c.keys,
                   .scores = scores.data(),
                   .probabilities = probabilities.data(),
                   .output = output.data(),
                   .output_stride = c.head_dim});
    for (int i = 0; i < kTileStrip; ++i) {
      const double want = c.LogSum(i);
      ExpectNear<float>(log_sum[i], want, 2e-6 * (1 + std::abs(want)), "log_sum_exp");
      for (int column = 0; column < c.head_dim; ++column) {
        double sum = 0, size = 0;
        for (int key = 0; key < c.keys; ++key) {
          const double term = c.P(i, key, want) * c.v[key * c.head_dim + column];
          sum += term, size += std::abs(term);
        }
        ExpectNear<Bf16>(output[i * c.head_dim + column], sum, size * kNarrowing, "output");
      }
    }
  });
}

// The queries are the last ones of those whose probabilities are left.
TEST_F(TileAttentionTest, Backward) {
  ForAll([&](const StripCase& c) {
    constexpr int kAt = kTileStrip, kDepth = kAt + kTileStrip;
    const Guarded<Bf16> keys = Columns(c.k, c), values = Columns(c.v, c), key_rows = Rows(c.k, c);
    const Guarded<float> means = RandomNumbers<float>(kTileStrip);
    Guarded<float> log_sum(kTileStrip);
    log_sum.Fill([&](int64_t i) { return c.LogSum(static_cast<int>(i)); });
    Guarded<Bf16> p = Unwritten(c.keys * kDepth), d = p;
    Guarded<Bf16> d_scores(kTileStrip * c.keys), d_queries(kTileStrip * c.head_dim);
    tiles_.attend_backward({.strip = c.Strip(keys.data(), log_sum.data()),
                            .d_output = c.d_output.data(),
                            .output_stride = c.head_dim,
                            .means = means.data(),
                            .value_columns = values.data(),
                            .key_rows = key_rows.data(),
                            .key_depth = c.keys,
                            .d_scores = d_scores.data(),
                            .at = kAt,
                            .depth = kDepth,
                            .probabilities_transposed = p.data(),
                            .d_transposed = d.data(),
                            .d_queries = d_queries.data()});
    for (int i = 0; i < kTileStrip; ++i) {
      std::vector<double> sums(static_cast<size_t>(c.head_dim)), sizes = sums;
      for (int key = 0; key < c.keys; ++key) {
        const double want = c.P(i, key, c.LogSum(i)), change = c.Product(c.d_output, i, c.v, key);
        const double size = want * (std::abs(change) + std::abs(means[i])) * StripCase::kScale;
        const double want_d = want * (change - means[i]) * StripCase::kScale;
        ExpectNear<Bf16>(AtA(p, key, kAt + i, kDepth), want, 1e-5 * want, "probability");
        ExpectNear<Bf16>(AtA(d, key, kAt + i, kDepth), want_d, 1e-5 * size, "gradient");
        ASSERT_TRUE(std::isnan(AtA(p, key, i, kDepth)) && std::isnan(AtA(d, key, i, kDepth)));
        for (int column = 0; column < c.head_dim; ++column) {
          const double term = want_d * c.k[key * c.head_dim + column];
          sums[static_cast<size_t>(column)] += term;
          sizes[static_cast<size_t>(column)] += std::abs(term);
        }
      }
      for (int column = 0; column < c.head_dim; ++column) {
        const auto at = static_cast<size_t>(column);
        ExpectNear<Bf16>(d_queries[i * c.head_dim + column], sums[at], sizes[at] * kNarrowing,
                         "d_queries");
      }
    }
  });
}

}  // namespace
}  // namespace gyre::cpu
