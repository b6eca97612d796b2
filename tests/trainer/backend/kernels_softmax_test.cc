// The CPU kernels that make probabilities: softmax of scores and cross-entropy of logits, and
// their gradients. See kernels_test.cc.

#include <algorithm>

#include "tests/trainer/backend/kernel_rows.h"
#include "trainer/backend/cpu/kernels/vector_math.h"

namespace gyre::cpu {
namespace {

int64_t Padded(int64_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

// Exp2 as the instruction set of this test has it: two roundings where others fuse them.
float Power(float x) { return GYRE_INSTRUCTION_SET::Exp2(x - GYRE_INSTRUCTION_SET::Floats{})[0]; }

TEST(Exp2, IsWithinItsErrorEverywhere) {
  double worst = 0;
  for (float x = -126.0f; x <= 127.0f; x += 0.00037f) {
    const double exact = std::exp2(static_cast<double>(x));
    worst = std::max(worst, std::abs(Power(x) - exact) / exact);
  }
  EXPECT_LT(worst, 2e-7);
}

TEST(Exp2, EndsWhereFloatsEnd) {
  EXPECT_EQ(Power(0.0f), 1.0f);
  EXPECT_EQ(Power(-INFINITY), 0.0f);
  EXPECT_EQ(Power(-126.5f), 0.0f);
  EXPECT_EQ(Power(127.0f), 0x1p127f);
  for (const uint32_t nan : {0x7fc00000u, 0x7f800001u, 0xffffffffu, 0xff812345u}) {
    EXPECT_TRUE(std::isnan(Power(std::bit_cast<float>(nan))));
  }
}

TEST(Log, IsWithinItsErrorEverywhere) {
  const auto log = [](float x) {
    return GYRE_INSTRUCTION_SET::Log(x - GYRE_INSTRUCTION_SET::Floats{})[0];
  };
  double worst = 0;
  for (float x = 0x1p-126f; x < 0x1p126f; x *= 1.00037f) {
    const double exact = std::log(static_cast<double>(x));
    worst = std::max(worst, std::abs(log(x) - exact) / std::max(1.0, std::abs(exact)));
  }
  EXPECT_LT(worst, 2e-7);
  EXPECT_EQ(log(1.0f), 0.0f);
  EXPECT_TRUE(std::isnan(log(NAN)));
}

// The last `queries` of `keys` positions; query i sees keys first[i] .. last + i.
struct ScoreCase {
  ScoreCase(int queries, int keys, int window, float slope_, double size)
      : stride(Padded(keys) + kLanes), scores(queries * stride), d_scores(queries * stride) {
    first.resize(static_cast<size_t>(queries));
    op = {.scores = scores.data(),
          .stride = stride,
          .queries = queries,
          .keys = keys,
          .first = first.data(),
          .last = keys - queries,
          .scale = 0.35f,
          .slope = slope_};
    const Guarded<float> random = RandomNumbers<float>(queries * stride, -size, size);
    for (int i = 0; i < queries; ++i) {
      first[static_cast<size_t>(i)] = window > 0 ? std::max(0, op.last + i + 1 - window) : 0;
    }
    // What nobody computed may be anything.
    scores.Fill([&](int64_t i) { return i % stride < keys ? random[i] : NAN; });
    d_scores.Fill([&](int64_t i) { return i % stride < keys ? random[i] * 0.4f : NAN; });
  }
  ScoreCase(const ScoreCase&) = delete;

  bool Visible(int64_t query, int64_t key) const {
    return key >= first[static_cast<size_t>(query)] && key <= op.last + query;
  }
  double Logit(int64_t query, int64_t key) const {
    return static_cast<double>(op.scale) * scores[query * stride + key] -
           static_cast<double>(op.slope) * static_cast<double>(op.last + query - key);
  }
  double LogSumExp(int64_t query) const {
    double largest = -INFINITY, sum = 0;
    for (int64_t c = 0; c < op.keys; ++c) {
      if (Visible(query, c)) largest = std::max(largest, Logit(query, c));
    }
    for (int64_t c = 0; c < op.keys; ++c) {
      if (Visible(query, c)) sum += std::exp(Logit(query, c) - largest);
    }
    return largest + std::log(sum);
  }

  int64_t stride;
  std::vector<int> first;
  Guarded<float> scores, d_scores;
  ScoreBlock op;
};

// kSizes: keys; one query, or up to a block of them.
template <typename Check>
void ForScoreCases(const Check& check) {
  for (const int keys : kOddSizes) {
    for (const int queries : {1, 5, 64}) {
      if (queries > keys) continue;
      for (const int window : {0, 1, 20}) {
        for (const float slope : {0.0f, 0.25f}) {
          for (const double size : {4.0, 300.0}) {
            SCOPED_TRACE(testing::Message() << keys << " keys, " << queries << " queries, window "
                                            << window << ", slope " << slope);
            check(ScoreCase(queries, keys, window, slope, size));
          }
        }
      }
    }
  }
}

template <typename Narrow>
using KernelsSoftmaxTest = NarrowKernelsTest<Narrow>;
TYPED_TEST_SUITE(KernelsSoftmaxTest, BothNarrow);

TYPED_TEST(KernelsSoftmaxTest, Softmax) {
  this->OnEveryInstructionSet([](const auto& kernels, const Kernels&) {
    ForScoreCases([&](const ScoreCase& scores) {
      constexpr int64_t kLogStride = 3;
      const int64_t queries = scores.op.queries, keys = scores.op.keys, stride = scores.stride;
      Guarded<TypeParam> probabilities(queries * stride);
      Guarded<float> log_sum(queries * kLogStride), destroyed = scores.scores;
      ScoreBlock op = scores.op;
      op.scores = destroyed.data();
      kernels.softmax(op, probabilities.data(), log_sum.data(), kLogStride);
      for (int64_t i = 0; i < queries; ++i) {
        const double want = scores.LogSumExp(i);
        ExpectNear<float>(log_sum[i * kLogStride], want, 1e-6 + 3e-7 * std::abs(want),
                          "log_sum_exp");
        EXPECT_TRUE(log_sum.Untouched(i * kLogStride + 1));
        for (int64_t c = 0; c < stride; ++c) {
          const int64_t at = i * stride + c;
          if (scores.Visible(i, c)) {
            const double logit = scores.Logit(i, c), p = std::exp(logit - want);
            const double error = p * (4e-7 + 3e-7 * (std::abs(logit) + std::abs(want)));
            ExpectNear<TypeParam>(probabilities[at], p, error, "probability");
          } else if (c < Padded(keys)) {
            EXPECT_EQ(probabilities[at], 0);
          } else {
            EXPECT_TRUE(probabilities.Untouched(at));
          }
        }
      }
    });
  });
}

TYPED_TEST(KernelsSoftmaxTest, SoftmaxBackward) {
  this->OnEveryInstructionSet([](const auto& kernels, const Kernels&) {
    ForScoreCases([&](const ScoreCase& scores) {
      const int64_t queries = scores.op.queries, keys = scores.op.keys, stride = scores.stride;
      const Guarded<float> means = RandomNumbers<float>(queries), d_before = scores.d_scores;
      Guarded<float> log_sum(queries), destroyed = scores.scores;
      log_sum.Fill([&](int64_t i) { return scores.LogSumExp(i); });
      Guarded<TypeParam> probabilities(queries * stride), d(queries * stride);
      ScoreBlock op = scores.op;
      op.scores = destroyed.data();
      kernels.softmax_backward(op, scores.d_scores.data(), means.data(), log_sum.data(), 1,
                               probabilities.data(), d.data());
      EXPECT_EQ(scores.d_scores, d_before);
      for (int64_t i = 0; i < queries; ++i) {
        for (int64_t c = 0; c < stride; ++c) {
          const int64_t at = i * stride + c;
          if (scores.Visible(i, c)) {
            const double logit = scores.Logit(i, c), p = std::exp(logit - scores.LogSumExp(i));
            const double error =
                p * (4e-7 + 4e-7 * (std::abs(logit) + std::abs(log_sum[i]))) + 0x1p-126;
            const double change = (scores.d_scores[at] - means[i]) * 0.35f;
            const double size = (std::abs(scores.d_scores[at]) + std::abs(means[i])) * 0.35f;
            ExpectNear<TypeParam>(probabilities[at], p, error, "probability");
            ExpectNear<TypeParam>(d[at], p * change, error * size, "gradient");
          } else if (c < Padded(keys)) {
            EXPECT_EQ(probabilities[at], 0);
            EXPECT_EQ(d[at], 0);
          } else {
            EXPECT_TRUE(probabilities.Untouched(at) && d.Untouched(at));
          }
        }
      }
    });
  });
}

// A query's result is the same in any block, and in place.
TYPED_TEST(KernelsSoftmaxTest, QueriesDoNotDependOnTheirNeighbours) {
  this->OnEveryInstructionSet([](const auto& kernels, const Kernels&) {
    const ScoreCase scores(31, 100, 40, 0.1f, 4);
    const int64_t stride = scores.stride, all = 31 * stride, keys = Padded(100);
    const Guarded<float> means = RandomNumbers<float>(31);
    Guarded<float> one = scores.scores, two = one, log_one(31), log_two(31);
    Guarded<TypeParam> p_one(all), p_two(all), again_one(all), again_two(all), d_one(all),
        d_two(all);
    const auto part = [&](int64_t from, int64_t to, Guarded<float>* copy) {
      ScoreBlock op = scores.op;
      op.scores = copy->data() + from * stride;
      op.queries = static_cast<int>(to - from);
      op.first += from;
      op.last += static_cast<int>(from);
      return op;
    };
    const auto run = [&](int64_t from, int64_t to, Guarded<float>* copy, Guarded<float>* log,
                         Guarded<TypeParam>* p, Guarded<TypeParam>* again, Guarded<TypeParam>* d) {
      kernels.softmax(part(from, to, copy), p->data() + from * stride, log->data() + from, 1);
      *copy = scores.scores;
      kernels.softmax_backward(part(from, to, copy), scores.d_scores.data() + from * stride,
                               means.data() + from, log->data() + from, 1,
                               again->data() + from * stride, d->data() + from * stride);
    };
    run(0, 31, &one, &log_one, &p_one, &again_one, &d_one);
    for (int64_t i = 0; i < 31; ++i) run(i, i + 1, &two, &log_two, &p_two, &again_two, &d_two);
    EXPECT_EQ(log_one, log_two);
    EXPECT_EQ(p_one, p_two);
    EXPECT_EQ(again_one, again_two);
    EXPECT_EQ(d_one, d_two);

    if constexpr (std::is_same_v<TypeParam, float>) {
      Guarded<float> p = scores.scores, again = p, d = scores.d_scores;
      kernels.softmax(part(0, 31, &p), p.data(), log_two.data(), 1);
      kernels.softmax_backward(part(0, 31, &again), d.data(), means.data(), log_two.data(), 1,
                               again.data(), d.data());
      for (int64_t i = 0; i < all; ++i) {
        if (i % stride >= keys) continue;
        EXPECT_EQ(p[i], p_one[i]);
        EXPECT_EQ(again[i], again_one[i]);
        EXPECT_EQ(d[i], d_one[i]);
      }
    }
  });
}

TYPED_TEST(KernelsSoftmaxTest, ScoresThatAreNotFinite) {
  this->OnEveryInstructionSet([](const auto& kernels, const Kernels&) {
    const int first[] = {0};
    for (const float odd : {-INFINITY, -1e30f, NAN, INFINITY}) {
      Guarded<float> scores(32), log_sum(1);
      scores.Fill([&](int64_t i) { return i == 7 ? odd : 0.0f; });
      Guarded<TypeParam> p(32);
      kernels.softmax({scores.data(), 32, 1, 20, first, 19, 0.5f, 0}, p.data(), log_sum.data(), 1);
      if (odd < 0) {
        EXPECT_EQ(p[7], 0);
        ExpectNear<TypeParam>(p[8], 1.0 / 19, 1e-7, "the others");
      } else {
        // Nothing hides a broken step.
        EXPECT_TRUE(std::isnan(p[8]) && std::isnan(log_sum[0])) << odd;
      }
    }
  });
}

TYPED_TEST(KernelsSoftmaxTest, RowProducts) {
  this->OnEveryInstructionSet([](const auto& kernels, const Kernels&) {
    for (const int n : kOddSizes) {
      const int64_t rows = 5, stride = n + 3;
      const Guarded<TypeParam> x = RandomNumbers<TypeParam>(rows * stride);
      const Guarded<TypeParam> y = RandomNumbers<TypeParam>(rows * stride, -5, 4);
      Guarded<float> sums(rows);
      kernels.row_products(x.data(), y.data(), rows, n, stride, sums.data());
      for (int64_t row = 0; row < rows; ++row) {
        double want = 0, size = 0;
        for (int64_t i = row * stride; i < row * stride + n; ++i) {
          want += static_cast<double>(x[i]) * static_cast<double>(y[i]);
          size += std::abs(static_cast<double>(x[i]) * static_cast<double>(y[i]));
        }
        ExpectNear<float>(sums[row], want, 1e-6 * size, "sum");
      }
    }
  });
}

TYPED_TEST(KernelsSoftmaxTest, CrossEntropy) {
  this->OnEveryInstructionSet([](const auto& kernels, const Kernels& all) {
    for (const int vocab : kOddSizes) {
      for (const double size : {3.0, 1e4}) {
        const int64_t rows = 4, stride = Padded(vocab) + kLanes;
        const Guarded<float> random = RandomNumbers<float>(rows * stride, -size, size);
        Guarded<float> logits(rows * stride), nll(rows), nll_alone(rows);
        logits.Fill([&](int64_t i) { return i % stride < vocab ? random[i] : NAN; });
        const int32_t targets[] = {0, -1, vocab - 1, vocab / 2};
        Guarded<float> destroyed = logits, destroyed_too = logits, in_place = logits;
        Guarded<TypeParam> gradient(rows * stride);
        kernels.cross_entropy_gradient({destroyed.data(), stride, rows, vocab, targets},
                                       gradient.data(), nll.data());
        all.cross_entropy({destroyed_too.data(), stride, rows, vocab, targets}, nll_alone.data());
        EXPECT_EQ(nll, nll_alone);
        if constexpr (std::is_same_v<TypeParam, float>) {
          kernels.cross_entropy_gradient({in_place.data(), stride, rows, vocab, targets},
                                         in_place.data(), nll.data());
          EXPECT_EQ(in_place, gradient);
        }
        for (int64_t row = 0; row < rows; ++row) {
          const auto logit = [&](int64_t c) {
            return static_cast<double>(random[row * stride + c]);
          };
          double largest = -INFINITY, sum = 0;
          for (int c = 0; c < vocab; ++c) largest = std::max(largest, logit(c));
          for (int c = 0; c < vocab; ++c) sum += std::exp(logit(c) - largest);
          if (targets[row] < 0) {
            EXPECT_EQ(nll[row], 0);
          } else {
            ExpectNear<float>(nll[row], std::log(sum) + largest - logit(targets[row]), 1e-6, "nll");
          }
          for (int64_t c = 0; c < stride; ++c) {
            const double p = c < vocab ? std::exp(logit(c) - largest) / sum : 0;
            const double want = targets[row] < 0 ? 0 : p - (c == targets[row] ? 1 : 0);
            const double error = p * (4e-7 + 2e-7 * (largest - logit(c)));
            ExpectNear<TypeParam>(gradient[row * stride + c], want, c < vocab ? error : 0,
                                  "gradient");
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace gyre::cpu
