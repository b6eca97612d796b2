#include "trainer/data/text_shares.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <set>

#include "tests/trainer/data/made_dataset.h"
#include "tests/trainer/data/temporary_home.h"
#include "trainer/data/batches.h"

namespace gyre {
namespace {

TEST(TextSharesTest, SharesHoldAtEveryPlaceAndEveryTextGoesOnInItsOwnOrder) {
  for (const std::vector<double>& weights :
       {std::vector<double>{1}, {0.7, 0.3}, {7, 3}, {1, 1, 1}, {0.2, 0.5, 0.05, 0.25}, {1e-3, 1}}) {
    for (const uint64_t seed : {0, 1, 2}) {
      const auto shares = TextShares::Create(weights, seed);
      ASSERT_TRUE(shares.ok()) << shares.status();
      double sum = 0;
      for (const double weight : weights) sum += weight;
      std::vector<int64_t> counts(weights.size());
      for (int64_t n = 0; n < 5000; ++n) {
        const TextShares::Row row = shares->At(n);
        ASSERT_LT(row.text, weights.size());
        ASSERT_EQ(row.index, counts[row.text]++) << n;
        for (size_t t = 0; t < weights.size(); ++t) {
          const double wanted = weights[t] / sum * static_cast<double>(n + 1);
          ASSERT_LT(std::abs(static_cast<double>(counts[t]) - wanted),
                    weights.size() > 2 ? static_cast<double>(weights.size()) : 1.0 + 1e-6)
              << "text " << t << " after " << n + 1 << " rows";
        }
      }
    }
  }
}

TEST(TextSharesTest, NothingIsLostFarOut) {
  const auto shares = TextShares::Create({0.7, 0.3}, 4);
  const int64_t far = int64_t{1} << 45;
  TextShares::Row first = shares->At(far), last = first;
  int64_t of_first = 0;
  for (int64_t n = far; n < far + 1000; ++n) {
    const TextShares::Row row = shares->At(n);
    if (row.text == 0) ++of_first;
    if (row.text == first.text) last = row;
  }
  EXPECT_NEAR(static_cast<double>(of_first), 700, 1);
  EXPECT_EQ(last.index - first.index, (first.text == 0 ? of_first : 1000 - of_first) - 1);
}

TEST(TextSharesTest, TheSeedShiftsTheOrder) {
  std::set<std::vector<size_t>> orders;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const auto shares = TextShares::Create({0.5, 0.3, 0.2}, seed);
    std::vector<size_t> order;
    for (int64_t n = 0; n < 30; ++n) order.push_back(shares->At(n).text);
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 1u);
}

TEST(TextSharesTest, WeightsAreFiniteAndAboveZero) {
  const double infinite = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& weights :
       {std::vector<double>{}, {0.0}, {1, -1}, {1, infinite}}) {
    EXPECT_EQ(TextShares::Create(weights, 0).status().code(), StatusCode::kInvalidArgument);
  }
}

class MixtureTest : public TemporaryHomeTest {};

TEST_F(MixtureTest, EachRowIsOfOneTextAndInThatTextsOwnOrder) {
  const Dataset a = *Dataset::Open(home_, MakeDataset(home_, {std::string(50, 'a'), "aaaaaaa"}));
  const Dataset b = *Dataset::Open(home_, MakeDataset(home_, {"bcdefghijklmnopqrstuvwxyz"}));
  const int context = 6;
  auto both = Batches::Create({{&a, 3}, {&b, 1}}, context, "documents", 8 * context, 5);
  ASSERT_TRUE(both.ok()) << both.status();
  auto alone = Batches::Create({{&b}}, context, "documents", context, 5);
  int64_t rows_of_b = 0;
  Batch batch, row;
  for (int64_t step = 1; step <= 20; ++step) {
    ASSERT_TRUE(both->Fill(step, 0, 8, &batch).ok());
    for (int r = 0; r < 8; ++r) {
      const auto begin = batch.targets.begin() + r * context;
      const std::vector<int32_t> targets(begin, begin + context);
      if (targets[0] == 'a') {
        EXPECT_THAT(targets, testing::Each('a'));
        continue;
      }
      ASSERT_TRUE(alone->Fill(++rows_of_b, 0, 1, &row).ok());
      EXPECT_EQ(targets, row.targets);
    }
    EXPECT_EQ(rows_of_b, 2 * step);
  }
}

TEST_F(MixtureTest, ABatchIsTheSameWhoeverComputesItAndWhenever) {
  const Dataset a = *Dataset::Open(home_, MakeDataset(home_, {"abcdefghijklm", "nopqrs"}));
  const Dataset b = *Dataset::Open(home_, MakeDataset(home_, {"0123456789"}));
  auto whole = Batches::Create({{&a, 0.6}, {&b, 0.4}}, 4, "stream", 20, 1);
  auto fresh = Batches::Create({{&a, 0.6}, {&b, 0.4}}, 4, "stream", 20, 1);
  Batch all, part;
  for (const int64_t step : {7, 3, 12}) {
    ASSERT_TRUE(whole->Fill(step, 0, 5, &all).ok());
    std::vector<int32_t> targets;
    for (int r = 0; r < 5; ++r) {
      ASSERT_TRUE(fresh->Fill(step, r, 1, &part).ok());
      targets.insert(targets.end(), part.targets.begin(), part.targets.end());
    }
    EXPECT_EQ(targets, all.targets);
  }
}

}  // namespace
}  // namespace gyre
