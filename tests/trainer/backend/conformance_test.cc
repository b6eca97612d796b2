// Every backend against the contract in backend.h: the double-precision reference, checked by
// finite differences, is what all others are compared with.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "tests/trainer/backend/op_case.h"
#include "tests/trainer/backend/subjects.h"
#include "trainer/backend/reference/reference_backend.h"

namespace gyre {
namespace {

/// How far a buffer may be from the reference's: no entry by more than `largest` of the largest
/// entry, and all together, in root mean square, by no more than `together` of theirs.
struct Tolerance {
  double largest = 0, together = 0;
};

// float32: what sums of float32 products lose. bf16 has eight significant bits: a number that is
// rounded to it is off by u = 2^-8 of its size at most, and by 0.4 u in root mean square over all
// mantissas. No output of an operation is more than some ten such roundings away from what went in
// (the operands of the products in a row, and what is kept between them), they are as good as
// independent, and a sum of products with random errors has the relative error of one of them: 0.4
// u sqrt(10), or 1.3 u, together. Allowed is twice that, for buffers of few entries and sums that
// cancel a little, and half as much again for a single entry, held against the largest. A sum in
// bfloat16 would be off by the square root of its length more, and show. tf32 is the same with
// ten bits: a device may cut off what it does not take.
Tolerance ToleranceOf(Precision precision, const OpCase& op) {
  if (precision == Precision::kFloat32) return {.largest = 1e-5, .together = 1e-5};
  const double bits = precision == Precision::kTf32 ? 10 : 8;
  const double u = std::exp2(-bits) * op.amplification;
  return {.largest = 3.9 * u, .together = 2.6 * u};
}

class Conformance : public testing::TestWithParam<std::tuple<Subject, OpCase>> {
 protected:
  void SetUp() override {
    backend_ = subject().create();
    if (backend_ == nullptr) GTEST_SKIP() << "this machine lacks the instruction set";
  }
  const Subject& subject() const { return std::get<0>(GetParam()); }
  const OpCase& op() const { return std::get<1>(GetParam()); }

  std::vector<Operation> Operations(bool backward) const {
    std::vector<Operation> operations = {op().forward};
    if (backward) operations.push_back(op().backward);
    return operations;
  }
  void ExpectAsReference(bool backward, const std::set<std::string>& written,
                         const std::set<std::string>& destroyed);
  void ExpectClose(const std::string& name, const std::vector<double>& got,
                   const std::vector<double>& want) const;
  void ExpectWritten(const std::string& name, const std::vector<double>& got,
                     const std::vector<double>& want) const;

  std::unique_ptr<Backend> backend_;
};

void Conformance::ExpectClose(const std::string& name, const std::vector<double>& got,
                              const std::vector<double>& want) const {
  const Tolerance tolerance = ToleranceOf(subject().precision, op());
  double scale = 0, squares = 0, error_squares = 0;
  for (const double value : want) scale = std::max(scale, std::abs(value));
  for (size_t i = 0; i < want.size(); ++i) {
    const double error = got[i] - want[i];
    squares += want[i] * want[i], error_squares += error * error;
    if (!(std::abs(error) <= tolerance.largest * scale)) {
      ADD_FAILURE() << name << "[" << i << "] is " << got[i] << ", not " << want[i] << ": "
                    << std::abs(error) / scale << " of the largest";
      return;
    }
  }
  const double together = std::sqrt(error_squares / std::max(squares, 1e-300));
  EXPECT_LE(together, tolerance.together) << name;
}

std::vector<double> Column(const std::vector<double>& values, size_t column, size_t columns) {
  std::vector<double> numbers;
  for (size_t i = column; i < values.size(); i += columns) numbers.push_back(values[i]);
  return numbers;
}

void Conformance::ExpectWritten(const std::string& name, const std::vector<double>& got,
                                const std::vector<double>& want) const {
  const auto columns = op().columns.find(name);
  if (columns == op().columns.end()) return ExpectClose(name, got, want);
  for (size_t c = 0; c < columns->second; ++c) {
    ExpectClose(name + "[column " + std::to_string(c) + "]", Column(got, c, columns->second),
                Column(want, c, columns->second));
  }
}

// The reference is slow, and every subject wants the same of it.
const RealBuffers& OnReference(const OpCase& op, const std::vector<Operation>& operations) {
  static auto& known = *new std::map<std::pair<std::string, size_t>, RealBuffers>();
  RealBuffers& after = known[{op.name, operations.size()}];
  if (after.empty()) after = RunOn(*CreateDoubleReferenceBackend(), op, operations);
  return after;
}

void Conformance::ExpectAsReference(bool backward, const std::set<std::string>& written,
                                    const std::set<std::string>& destroyed) {
  const RealBuffers got = RunOn(*backend_, op(), Operations(backward));
  const RealBuffers& want = OnReference(op(), Operations(backward));
  for (const auto& [name, after] : got) {
    if (destroyed.contains(name)) continue;
    if (written.contains(name)) {
      ExpectWritten(name, after, want.at(name));
    } else {
      const RealBuffers& before = op().reals.contains(name) ? op().reals : op().narrows;
      EXPECT_EQ(after, before.at(name)) << name << " is not an output";
    }
  }
}

TEST_P(Conformance, ForwardIsTheReference) {
  ExpectAsReference(/*backward=*/false, {op().outputs.begin(), op().outputs.end()}, {});
}

TEST_P(Conformance, BackwardIsTheReference) {
  if (!op().backward) GTEST_SKIP() << "no backward";
  std::set<std::string> written(op().outputs.begin(), op().outputs.end());
  for (const GradientOf& g : op().gradients) written.insert(g.gradient);
  ExpectAsReference(/*backward=*/true, written, op().destroyed);
}

TEST_P(Conformance, GivesTheSameBitsAgain) {
  const bool backward = static_cast<bool>(op().backward);
  EXPECT_EQ(RunOn(*backend_, op(), Operations(backward)),
            RunOn(*backend_, op(), Operations(backward)));
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
    const std::vector<double>& cotangent = op.Values(op.cotangent);
    double sum = 0;
    for (size_t i = 0; i < cotangent.size(); ++i) sum += forward.at(op.output)[i] * cotangent[i];
    return sum;
  };
  const Random random(3, "entries");
  for (const GradientOf& g : op.gradients) {
    std::vector<double>& x = op.Values(g.input);
    for (uint64_t draw = 0; draw < 12; ++draw) {
      const size_t i = random.Below(x.size(), 0, draw);
      const double step = 1e-5, before = x[i];
      x[i] = before + step;
      const double above = loss();
      x[i] = before - step;
      const double below = loss();
      x[i] = before;
      const double slope = (above - below) / (2 * step);
      const double got = after.at(g.gradient)[i] - (g.adds ? op.Values(g.gradient)[i] : 0);
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

}  // namespace
}  // namespace gyre
