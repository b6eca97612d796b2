// What every backend promises of its memory: zeros at first, refusals, the numbers that narrow
// places keep, weights as they are now, and that what is not finite shows.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/trainer/backend/op_case.h"
#include "tests/trainer/backend/subjects.h"

namespace gyre {
namespace {

class Memory : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    backend_ = GetParam().create();
    if (backend_ == nullptr) GTEST_SKIP() << "this machine lacks the instruction set";
  }

  template <typename Element>
  Place<Element> Make(const std::vector<double>& values) {
    Place<Element> place;
    EXPECT_TRUE(backend_->Allocate(static_cast<int64_t>(values.size()), &place).ok());
    backend_->Write(place, values);
    return place;
  }
  template <typename Element>
  std::vector<double> Read(Place<Element> place, size_t count) {
    std::vector<double> values(count, 1.0);
    EXPECT_TRUE(backend_->Read(place, values).ok());
    return values;
  }

  std::unique_ptr<Backend> backend_;
};

TEST_P(Memory, BeginsAtZeroAndCanBeZeroed) {
  Reals place;
  Narrows narrow;
  ASSERT_TRUE(backend_->Allocate(1000, &place).ok());
  ASSERT_TRUE(backend_->Allocate(1000, &narrow).ok());
  EXPECT_EQ(Read(place, 1000), std::vector<double>(1000, 0.0));
  EXPECT_EQ(Read(narrow, 1000), std::vector<double>(1000, 0.0));
  backend_->Write(place, std::vector<double>(1000, 2.0));
  backend_->Zero(place.At(1), 998);
  const std::vector<double> values = Read(place, 1000);
  EXPECT_EQ(values.front() + values.back(), 4.0);
  EXPECT_EQ(*std::max_element(values.begin() + 1, values.end() - 1), 0.0);
  backend_->Free(place);
  backend_->Free(narrow);
}

TEST_P(Memory, WhatCannotFitIsRefused) {
  Reals place;
  EXPECT_EQ(backend_->Allocate(int64_t{1} << 55, &place).kind, BackendError::Kind::kOutOfMemory);
  EXPECT_FALSE(place);
  Narrows narrow;
  EXPECT_EQ(backend_->Allocate(int64_t{1} << 55, &narrow).kind, BackendError::Kind::kOutOfMemory);
  EXPECT_FALSE(narrow);
}

// To nearest, ties to even, the largest to infinity; and no rounding at all in float32.
TEST_P(Memory, NarrowPlacesRound) {
  const double tie = 1.0 / 256, below = tie - 1.0 / (1 << 20), above = tie + 1.0 / (1 << 20);
  const double huge = 0x1.ffp127;  // half of the way from bfloat16's largest to 2^128
  const std::vector<double> values = {1,        1 + tie,      1 + 3 * tie, 1 + below, 1 + above,
                                      -1 - tie, -1 - 3 * tie, 0x1p-126,    huge,      -huge,
                                      INFINITY, -INFINITY,    -0.0,        1e-3f,     3};
  const std::vector<double> rounded = {
      1,         1,        1 + 4 * tie, 1,    1 + 2 * tie, -1, -1 - 4 * tie, 0x1p-126, INFINITY,
      -INFINITY, INFINITY, -INFINITY,   -0.0, 0x1.06p-10,  3};
  const Narrows place = Make<Narrow>(values);
  const bool bf16 = GetParam().precision == Precision::kBf16;
  EXPECT_EQ(Read(place, values.size()), bf16 ? rounded : values);
  backend_->Write(place, std::vector<double>{NAN, -NAN});
  for (const double value : Read(place, 2)) EXPECT_TRUE(std::isnan(value));
  backend_->Free(place);
}

// y (3) = x (4) times each of two matrices that lie side by side, as a model's do.
class Weights {
 public:
  Weights(Backend* backend, Reals weights, Reals y) : backend_(*backend), weights_(weights), y_(y) {
    EXPECT_TRUE(backend_.Reserve({.tokens = 1, .length = 1, .hidden = 4, .intermediate = 4}).ok());
    EXPECT_TRUE(backend_.Allocate(4, &x_).ok());
    backend_.Write(x_, std::vector<double>{1, 2, 4, 8});
  }
  ~Weights() { backend_.Free(x_); }

  /// Both products in a row. y is also the residual, of zeros.
  std::vector<double> Products() {
    std::vector<double> all;
    for (const int64_t matrix : {0, 12}) {
      backend_.Zero(y_, 6);
      backend_.LinearResidualForward({1, 4, 3, x_, weights_.At(matrix), y_, y_.At(3)});
      std::vector<double> y(3);
      EXPECT_TRUE(backend_.Read(y_.At(3), y).ok());
      all.insert(all.end(), y.begin(), y.end());
    }
    return all;
  }

 private:
  Backend& backend_;
  Reals weights_, y_;
  Narrows x_;
};

// A backend may keep weights in another form, but never the weights of yesterday.
TEST_P(Memory, ProductsTakeTheWeightsOfNow) {
  const std::vector<double> ones(24, 1.0), zeros(24, 0.0);
  const Reals weight = Make<Real>(ones), y = Make<Real>(std::vector<double>(6));
  const Reals gradient = Make<Real>(ones), norm = Make<Real>({1.0});
  const Reals first = Make<Real>(zeros), second = Make<Real>(zeros);
  {
    Weights weights(backend_.get(), weight, y);
    EXPECT_EQ(weights.Products(), std::vector<double>(6, 15.0));
    backend_->Write(weight.At(11), std::vector<double>{2, 3});  // the end of one, the next's begin
    EXPECT_EQ(weights.Products(), (std::vector<double>{15, 15, 23, 17, 15, 15}));
    backend_->Zero(weight.At(20), 4);
    EXPECT_EQ(weights.Products(), (std::vector<double>{15, 15, 23, 17, 15, 0}));
    // beta 0, epsilon 0: every weight goes down by lr.
    AdamW step{.count = 24,
               .lr = 1,
               .gradient = gradient,
               .gradient_norm = norm,
               .weight = weight,
               .first_moment = first,
               .second_moment = second};
    backend_->AdamWStep(step);
    EXPECT_EQ(weights.Products(), (std::vector<double>{0, 0, 8, 2, 0, -15}));
  }
  // Another matrix in memory that was free meanwhile.
  backend_->Free(weight);
  const Reals again = Make<Real>(std::vector<double>(24, 2.0));
  EXPECT_EQ(Weights(backend_.get(), again, y).Products(), std::vector<double>(6, 30.0));
  for (const Reals place : {again, y, gradient, norm, first, second}) backend_->Free(place);
}

// An operation after which whatever operations share is not finite.
void SpoilSharedMemory(Backend& backend) {
  constexpr int kHidden = 64, kVocab = 1024;
  const int64_t tokens = 400;
  const auto make = [&](int64_t count) {
    Reals place;
    EXPECT_TRUE(backend.Allocate(count, &place).ok());
    backend.Write(place, std::vector<double>(static_cast<size_t>(count), NAN));
    return place;
  };
  const Reals x = make(tokens * kHidden), weight = make(kVocab * kHidden), nll = make(tokens);
  const Reals dx = make(tokens * kHidden), d_weight = make(kVocab * kHidden);
  Ints targets;
  EXPECT_TRUE(backend.Allocate(tokens, &targets).ok());
  backend.LinearCrossEntropyForwardBackward({tokens, kHidden, kVocab, targets, x, weight, nll},
                                            {dx, d_weight});
  for (const Reals place : {x, weight, nll, dx, d_weight}) backend.Free(place);
  backend.Free(targets);
}

TEST_P(Memory, OperationsDoNotSeeWhatOthersLeft) {
  if (GetParam().name == "reference") GTEST_SKIP() << "it keeps no memory between operations";
  for (const OpCase& op : AllOpCases()) {
    std::vector<Operation> operations = {op.forward};
    if (op.backward) operations.push_back(op.backward);
    const RealBuffers want = RunOn(*GetParam().create(), op, operations);
    SpoilSharedMemory(*backend_);
    EXPECT_EQ(RunOn(*backend_, op, operations), want) << op.name;
  }
}

// A step that has gone wrong must show, whatever the loops do with infinities.
TEST_P(Memory, NotANumberIsNotHidden) {
  for (const double bad : {static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    for (OpCase op : AllOpCases()) {
      if (!op.name.starts_with("LinearCrossEntropy") && !op.name.starts_with("AdamW") &&
          !op.name.starts_with("Mlp") && !op.name.starts_with("Attention_plain")) {
        continue;
      }
      const std::string input = op.reals.contains("gradient") ? "gradient"
                                : op.narrows.contains("qkv")  ? "qkv"
                                                              : "x";
      op.Values(input).back() = bad;
      if (op.ints.contains("targets")) op.ints["targets"].back() = 0;
      bool finite = true;
      for (const auto& [name, values] : RunOn(*backend_, op, {op.forward})) {
        if (std::find(op.outputs.begin(), op.outputs.end(), name) == op.outputs.end()) continue;
        for (const double value : values) finite = finite && std::isfinite(value);
      }
      EXPECT_FALSE(finite) << op.name << " with " << bad;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Memory, testing::ValuesIn(Subjects()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace gyre
