// Statistics of attention whose values are known without the reference.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/trainer/backend/op_numbers.h"
#include "tests/trainer/backend/subjects.h"

namespace gyre {
namespace {

constexpr int kLength = 70, kHeads = 2, kHeadDim = 6, kPairs = kHeadDim / 2;
constexpr int kWidth = (kHeads + 2) * kHeadDim;  // one head of keys and values

class Statistics : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    backend_ = GetParam().create();
    if (backend_ == nullptr) GTEST_SKIP() << "this machine lacks the instruction set";
    ASSERT_TRUE(backend_
                    ->Reserve({.tokens = kLength,
                               .length = kLength,
                               .hidden = kWidth,
                               .heads = kHeads,
                               .kv_heads = 1,
                               .head_dim = kHeadDim})
                    .ok());
    op_.attention = {.rows = 1,
                     .length = kLength,
                     .heads = kHeads,
                     .kv_heads = 1,
                     .head_dim = kHeadDim,
                     .qkv = Make<Narrow>(kLength * kWidth),
                     .output = Make<Narrow>(kLength * kHeads * kHeadDim),
                     .log_sum_exp = Make<Real>(kLength * kHeads)};
    op_.lengths = Make<int32_t>(1);
    op_.pairs = Make<int32_t>(kHeadDim);
    op_.amplitudes = Make<Real>(kPairs);
    op_.norms = Make<Real>((kHeads + 2) * kPairs);
    op_.first_norms = Make<Real>((kHeads + 2) * kPairs);
    op_.contributions = Make<Real>(kHeads * kPairs);
    op_.first_contributions = Make<Real>(kHeads * kPairs);
    op_.scores = Make<Real>(kHeads * HeadScore::kCount);
    backend_->Write(op_.lengths, std::vector<int32_t>{kLength});
    // Two halves of four coordinates, and a pair of its own: as respaced has them.
    backend_->Write(op_.pairs, std::vector<int32_t>{0, 2, 1, 3, 4, 5});
    backend_->Write(op_.amplitudes, std::vector<double>(kPairs, 1.0));
  }

  void TearDown() override {
    for (const auto& free : frees_) free();
  }

  template <typename Element>
  Place<Element> Make(int64_t count) {
    Place<Element> place;
    EXPECT_TRUE(backend_->Allocate(count, &place).ok());
    frees_.push_back([this, place] { backend_->Free(place); });
    return place;
  }
  Reals Written(const std::vector<double>& values) {
    const Reals place = Make<Real>(static_cast<int64_t>(values.size()));
    backend_->Write(place, values);
    return place;
  }
  std::vector<double> Read(Reals place, size_t count) {
    std::vector<double> values(count);
    EXPECT_TRUE(backend_->Read(place, values).ok());
    return values;
  }
  std::vector<double> Norms() {
    backend_->CollectAttentionStatistics(op_);
    return Read(op_.norms, (kHeads + 2) * kPairs);
  }

  std::unique_ptr<Backend> backend_;
  std::vector<std::function<void()>> frees_;
  AttentionStatistics op_;
};

// Every query sees all its keys alike, by the second pair alone.
TEST_P(Statistics, OfUniformAttention) {
  std::vector<double> qkv;
  for (int t = 0; t < kLength; ++t) {
    const double heads[] = {0, 1, 0, 0, 0, 0, 0, 0, 0, -3, 0, 0,
                            0, 2, 0, 2, 0, 0, 1, 1, 1, 1,  1, 1};
    qkv.insert(qkv.end(), std::begin(heads), std::end(heads));
  }
  backend_->Write(op_.attention.qkv, qkv);
  backend_->AttentionForward(op_.attention);
  backend_->CollectAttentionStatistics(op_);

  double harmonic = 0, logarithms = 0;
  for (int i = 0; i < kLength; ++i) harmonic += 1.0 / (i + 1), logarithms += std::log(i + 1);
  const double distances = kLength * (kLength - 1) / 4.0;
  const std::vector<double> want = {harmonic, harmonic - 1, harmonic, logarithms, distances};
  const std::vector<double> scores = Read(op_.scores, kHeads * HeadScore::kCount);
  const std::vector<double> others = Read(op_.contributions, kHeads * kPairs);
  const std::vector<double> first = Read(op_.first_contributions, kHeads * kPairs);
  for (int head = 0; head < kHeads; ++head) {
    for (int s = 0; s < HeadScore::kCount; ++s) {
      EXPECT_NEAR(scores[head * HeadScore::kCount + s], want[s], 2e-5 * want[s])
          << head << " " << s;
    }
    const double c = (head == 0 ? 2 : 6) / std::sqrt(kHeadDim);
    for (int k = 0; k < kPairs; ++k) {
      const double keys = k == 1 ? c : 0;
      EXPECT_NEAR(first[head * kPairs + k], kLength * keys, 1e-5 * kLength * c);
      EXPECT_NEAR(others[head * kPairs + k], 2 * distances * keys, 1e-5 * distances * c);
    }
  }
  const std::vector<double> norms = Read(op_.norms, (kHeads + 2) * kPairs);
  const std::vector<double> each = {0, 1, 0, 0, 3, 0, 0, std::sqrt(8), 0};
  for (size_t i = 0; i < each.size(); ++i) {
    EXPECT_NEAR(norms[i], (kLength - 1) * each[i], 1e-3) << i;
    EXPECT_NEAR(Read(op_.first_norms, each.size())[i], each[i], 1e-5) << i;
  }
}

// Turned and lengthened as YaRN does it, with a pair that passes through: the norms are those of
// queries and keys that nothing was done to, and values are never touched.
TEST_P(Statistics, NormsAreThoseBeforeTheRotation) {
  constexpr double kFactor = 1.25;
  std::vector<double> cosine, sine;
  for (int t = 0; t < kLength; ++t) {
    for (const double frequency : {1.0, 0.3, 0.0}) {
      cosine.push_back(kFactor * std::cos(t * frequency));
      sine.push_back(kFactor * std::sin(t * frequency));
    }
  }
  RotationTable rotation{Written(cosine), Written(sine), kPairs, {}};
  NormQkv qkv = {.rows = 1,
                 .length = kLength,
                 .hidden = kWidth,
                 .heads = kHeads,
                 .kv_heads = 1,
                 .head_dim = kHeadDim,
                 .x = Written(Normals("x", kLength * kWidth)),
                 .norm_weight = Written(std::vector<double>(kWidth, 1.0)),
                 .weight = Written(Normals("weight", kWidth * kWidth)),
                 .rotation = &rotation,
                 .inverse_rms = Make<Real>(kLength),
                 .qkv = op_.attention.qkv};
  backend_->NormQkvForward(qkv);
  backend_->AttentionForward(op_.attention);
  const std::vector<double> before = Norms();

  rotation.runs = {{0, 0, 2, 1, 2}};
  backend_->NormQkvForward(qkv);
  backend_->AttentionForward(op_.attention);
  backend_->Write(op_.amplitudes, std::vector<double>{kFactor, kFactor, 1});
  const std::vector<double> after = Norms();
  const double tolerance = GetParam().precision == Precision::kBf16 ? 5e-3 : 1e-5;
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_GT(before[i], 1) << i;
    EXPECT_NEAR(after[i], before[i], tolerance * before[i]) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Statistics, testing::ValuesIn(Subjects()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace gyre
