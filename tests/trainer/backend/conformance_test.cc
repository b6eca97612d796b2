// Every backend against the contract in backend.h: the double-precision reference, checked by
// finite differences, is what all others are compared with.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "tests/trainer/backend/op_case.h"
#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/backend/reference/reference_backend.h"

namespace gyre {

namespace {

constexpr int64_t kGuard = 64;          // elements around each buffer
constexpr double kSentinel = -12345.5;  // exact in float

Reals AllocateGuarded(Backend& backend, const std::vector<double>& values) {
  Reals place;
  const int64_t count = static_cast<int64_t>(values.size());
  EXPECT_TRUE(backend.Allocate(count + 2 * kGuard, &place).ok());
  backend.Write(place, std::vector<double>(count + 2 * kGuard, kSentinel));
  backend.Write(place.At(kGuard), values);
  return place.At(kGuard);
}

std::vector<double> ReadGuarded(Backend& backend, const std::string& name, Reals place,
                                size_t count) {
  std::vector<double> all(count + 2 * kGuard);
  EXPECT_TRUE(backend.Read(place.At(-kGuard), all).ok());
  for (size_t i = 0; i < all.size(); ++i) {
    const bool inside = i >= kGuard && i < kGuard + count;
    if (!inside && all[i] != kSentinel) {
      ADD_FAILURE() << name << ": place " << static_cast<int64_t>(i) - kGuard << " of " << count
                    << " was written";
      break;
    }
  }
  return {all.begin() + kGuard, all.end() - kGuard};
}

}  // namespace

RealBuffers RunOn(Backend& backend, const OpCase& op, const std::vector<Operation>& operations) {
  EXPECT_TRUE(backend.Reserve(op.shape).ok());
  Places places;
  for (const auto& [name, values] : op.reals) {
    places.reals[name] = AllocateGuarded(backend, values);
  }
  for (const auto& [name, values] : op.ints) {
    EXPECT_TRUE(backend.Allocate(static_cast<int64_t>(values.size()), &places.ints[name]).ok());
    backend.Write(places.ints[name], values);
  }
  for (const Operation& operation : operations) operation(backend, places);
  RealBuffers after;
  for (const auto& [name, values] : op.reals) {
    after[name] = ReadGuarded(backend, name, places.R(name), values.size());
    backend.Free(places.R(name).At(-kGuard));
  }
  for (const auto& [name, place] : places.ints) backend.Free(place);
  return after;
}

namespace {

struct Subject {
  std::string name;
  std::function<std::unique_ptr<Backend>()> create;  // null: not on this machine
};

std::vector<Subject> Subjects() {
  std::vector<Subject> subjects = {{"reference", [] { return CreateReferenceBackend(); }}};
  for (const std::string set : {"avx512", "avx2", "baseline"}) {
    for (const int threads : {1, 3}) {
      subjects.push_back({"cpu_" + set + "_" + std::to_string(threads), [=] {
                            auto created = CreateCpuBackend(threads, set);
                            return created.ok() ? *std::move(created) : nullptr;
                          }});
    }
  }
  return subjects;
}

class Conformance : public testing::TestWithParam<std::tuple<Subject, OpCase>> {
 protected:
  void SetUp() override {
    backend_ = std::get<0>(GetParam()).create();
    if (backend_ == nullptr) GTEST_SKIP() << "this machine lacks the instruction set";
  }
  const OpCase& op() const { return std::get<1>(GetParam()); }

  std::unique_ptr<Backend> backend_;
};

// Deviations are held against the largest number of the buffer: sums of float32 products lose that
// much.
void ExpectClose(const std::string& name, const std::vector<double>& got,
                 const std::vector<double>& want) {
  double scale = 0;
  for (const double value : want) scale = std::max(scale, std::abs(value));
  for (size_t i = 0; i < want.size(); ++i) {
    if (!(std::abs(got[i] - want[i]) <= 1e-5 * scale)) {
      ADD_FAILURE() << name << "[" << i << "] is " << got[i] << ", not " << want[i];
      return;
    }
  }
}

void ExpectAsReference(Backend& backend, const OpCase& op, const std::vector<Operation>& operations,
                       const std::set<std::string>& written,
                       const std::set<std::string>& destroyed) {
  const RealBuffers got = RunOn(backend, op, operations);
  const auto reference = CreateDoubleReferenceBackend();
  const RealBuffers want = RunOn(*reference, op, operations);
  for (const auto& [name, before] : op.reals) {
    if (destroyed.contains(name)) continue;
    if (written.contains(name)) {
      ExpectClose(name, got.at(name), want.at(name));
    } else {
      EXPECT_EQ(got.at(name), before) << name << " is not an output";
    }
  }
}

TEST_P(Conformance, ForwardIsTheReference) {
  ExpectAsReference(*backend_, op(), {op().forward}, {op().outputs.begin(), op().outputs.end()},
                    {});
}

TEST_P(Conformance, BackwardIsTheReference) {
  if (!op().backward) GTEST_SKIP() << "no backward";
  std::set<std::string> written(op().outputs.begin(), op().outputs.end());
  for (const GradientOf& g : op().gradients) written.insert(g.gradient);
  ExpectAsReference(*backend_, op(), {op().forward, op().backward}, written, op().destroyed);
}

TEST_P(Conformance, GivesTheSameBitsAgain) {
  std::vector<Operation> operations = {op().forward};
  if (op().backward) operations.push_back(op().backward);
  EXPECT_EQ(RunOn(*backend_, op(), operations), RunOn(*backend_, op(), operations));
}

INSTANTIATE_TEST_SUITE_P(All, Conformance,
                         testing::Combine(testing::ValuesIn(Subjects()),
                                          testing::ValuesIn(AllOpCases())),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name;
                         });

class Gradients : public testing::TestWithParam<OpCase> {};

// d/dx of <cotangent, output>, by central differences in double precision.
TEST_P(Gradients, AreFiniteDifferences) {
  OpCase op = GetParam();
  if (!op.backward) GTEST_SKIP() << "no backward";
  const auto backend = CreateDoubleReferenceBackend();
  const RealBuffers after = RunOn(*backend, op, {op.forward, op.backward});
  const auto loss = [&] {
    const RealBuffers forward = RunOn(*backend, op, {op.forward});
    double sum = 0;
    for (size_t i = 0; i < forward.at(op.output).size(); ++i) {
      sum += forward.at(op.output)[i] * op.reals.at(op.cotangent)[i];
    }
    return sum;
  };
  const Random random(3, "entries");
  for (const GradientOf& g : op.gradients) {
    std::vector<double>& x = op.reals.at(g.input);
    for (uint64_t draw = 0; draw < 12; ++draw) {
      const size_t i = random.Below(x.size(), 0, draw);
      const double step = 1e-5, before = x[i];
      x[i] = before + step;
      const double above = loss();
      x[i] = before - step;
      const double below = loss();
      x[i] = before;
      const double slope = (above - below) / (2 * step);
      const double got = after.at(g.gradient)[i] - (g.adds ? op.reals.at(g.gradient)[i] : 0);
      EXPECT_NEAR(got, slope, 1e-6 * std::max(1.0, std::abs(slope)))
          << g.gradient << "[" << i << "]";
    }
  }
}

std::vector<OpCase> SmallCases() {
  std::vector<OpCase> cases = AllOpCases();
  std::erase_if(cases, [](const OpCase& c) { return c.shape.tokens > 100; });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, Gradients, testing::ValuesIn(SmallCases()),
                         [](const auto& info) { return info.param.name; });

class Backends : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    backend_ = GetParam().create();
    if (backend_ == nullptr) GTEST_SKIP() << "this machine lacks the instruction set";
  }
  std::unique_ptr<Backend> backend_;
};

TEST_P(Backends, MemoryBeginsAtZeroAndCanBeZeroed) {
  Reals place;
  ASSERT_TRUE(backend_->Allocate(1000, &place).ok());
  std::vector<double> values(1000, 1.0);
  ASSERT_TRUE(backend_->Read(place, values).ok());
  EXPECT_EQ(values, std::vector<double>(1000, 0.0));
  backend_->Write(place, std::vector<double>(1000, 2.0));
  backend_->Zero(place.At(1), 998);
  ASSERT_TRUE(backend_->Read(place, values).ok());
  EXPECT_EQ(values.front() + values.back(), 4.0);
  EXPECT_EQ(*std::max_element(values.begin() + 1, values.end() - 1), 0.0);
  backend_->Free(place);
}

TEST_P(Backends, WhatCannotFitIsRefused) {
  Reals place;
  EXPECT_EQ(backend_->Allocate(int64_t{1} << 55, &place).kind, BackendError::Kind::kOutOfMemory);
  EXPECT_FALSE(place);
}

// A step that has gone wrong must show, whatever the loops do with infinities.
TEST_P(Backends, NotANumberIsNotHidden) {
  for (const double bad : {static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    for (OpCase op : AllOpCases()) {
      if (!op.name.starts_with("LinearCrossEntropy") && !op.name.starts_with("AdamW") &&
          !op.name.starts_with("NormGateUp") && !op.name.starts_with("Attention_plain")) {
        continue;
      }
      const std::string input = op.reals.contains("gradient") ? "gradient"
                                : op.reals.contains("qkv")    ? "qkv"
                                                              : "x";
      op.reals[input].back() = bad;
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

INSTANTIATE_TEST_SUITE_P(All, Backends, testing::ValuesIn(Subjects()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace gyre
