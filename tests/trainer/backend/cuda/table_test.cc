#include "tests/trainer/backend/cuda/made_arrays.h"

namespace gyre::cuda {
namespace {

struct Shape {
  int64_t tokens;
  int hidden, vocab;
  int offset = 0;
};
// Below and above what one block sorts, and what one merge does.
constexpr Shape kShapes[] = {{1, 4, 3},      {31, 1, 5},      {33, 20, 1},
                             {100, 63, 200}, {70, 6, 7, 1},   {70, 8, 7, 1},
                             {1025, 4, 9},   {1100, 8, 4000}, {0, 8, 5}};

std::vector<int32_t> Ids(const Shape& s) {
  std::mt19937 random(1);
  std::vector<int32_t> ids(s.tokens);
  for (int32_t& id : ids) id = static_cast<int32_t>(random() % s.vocab);
  return ids;
}

std::string Text(const Shape& s) {
  return std::to_string(s.tokens) + " tokens of " + std::to_string(s.hidden);
}

void CheckAdded(const Shape& s) {
  const std::vector<int32_t> ids = Ids(s);
  const std::vector<double> dx = Random(s.tokens * s.hidden, 2);
  std::vector<double> expected = Random(int64_t{s.vocab} * s.hidden, 3);
  const Array<float> from(dx, s.offset), d_table(expected, s.offset);
  for (int64_t n = 0; n < s.tokens; ++n) {
    for (int c = 0; c < s.hidden; ++c) {
      expected[int64_t{ids[n]} * s.hidden + c] += 0.5 * dx[n * s.hidden + c];
    }
  }
  const DeviceArray<int32_t> id(ids);
  const DeviceArray<int64_t> order(AddRowsScratch(s.tokens));
  AddRows(nullptr, s.tokens, s.hidden, 0.5f, id.data(), from, order.data(), d_table);
  ExpectClose(d_table.Values(), expected, 1e-5, Text(s));
}

TEST(Table, TakesRows) {
  for (const Shape& s : kShapes) {
    const std::vector<int32_t> ids = Ids(s);
    const std::vector<double> rows = Random(int64_t{s.vocab} * s.hidden, 3);
    std::vector<double> expected;
    for (const int32_t id : ids) {
      for (int c = 0; c < s.hidden; ++c) expected.push_back(3 * rows[int64_t{id} * s.hidden + c]);
    }
    const Array<float> table(rows, s.offset), x(s.tokens * s.hidden, s.offset);
    const DeviceArray<int32_t> id(ids);
    TakeRows(nullptr, s.tokens, s.hidden, 3, id.data(), table, x);
    ExpectClose(x.Values(), expected, 1e-6, Text(s));
  }
}

TEST(Table, AddsRows) {
  for (const Shape& s : kShapes) CheckAdded(s);
}

TEST(Table, AddsRowsOfManyTokensLarge) { CheckAdded({20000, 4, 300}); }

// A float that is lost in another order: 2^25 + 1 - 2^25 = 0.
TEST(Table, AddsTokensInTheirOrder) {
  constexpr int kTokens = 1500;
  std::vector<int32_t> ids(kTokens);
  std::vector<double> dx(kTokens);
  for (int n = 0; n < kTokens; ++n) ids[n] = (n * 7 + n / 100) % 30;
  std::vector<double> expected(30);
  std::vector<int> seen(30);
  for (int n = 0; n < kTokens; ++n) {
    const double turns[] = {0x1p25, 1, -0x1p25, 3};
    dx[n] = turns[seen[ids[n]]++ % 4];
    expected[ids[n]] = static_cast<float>(expected[ids[n]] + dx[n]);
  }
  const Array<float> from(dx, 0), d_table(std::vector<double>(30), 0);
  const DeviceArray<int32_t> id(ids);
  const DeviceArray<int64_t> order(AddRowsScratch(kTokens));
  AddRows(nullptr, kTokens, 1, 1, id.data(), from, order.data(), d_table);
  EXPECT_EQ(d_table.Values(), expected);
}

}  // namespace
}  // namespace gyre::cuda
