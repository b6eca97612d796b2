#include "trainer/data/batches.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "tests/trainer/data/made_dataset.h"
#include "tests/trainer/data/temporary_home.h"

namespace gyre {
namespace {

using testing::Each;
using testing::ElementsAre;

// Documents in which every character is different, so that a token tells its place.
std::vector<std::string> Distinct(const std::vector<int>& lengths) {
  std::vector<std::string> documents;
  char next = 1;
  for (const int length : lengths) {
    documents.emplace_back();
    for (int i = 0; i < length; ++i) documents.back() += next++;
  }
  return documents;
}

class BatchesTest : public TemporaryHomeTest {
 protected:
  Dataset Made(const std::vector<std::string>& documents) {
    return *Dataset::Open(home_, MakeDataset(home_, documents));
  }
  static Batch Get(Batches& batches, int64_t step) {
    Batch batch;
    EXPECT_TRUE(batches.Fill(step, 0, batches.rows_per_step(), &batch).ok());
    return batch;
  }
};

TEST_F(BatchesTest, EveryTokenOfAnEpochIsAnInputExactlyOnce) {
  for (const int context : {1, 4, 7, 16, 50}) {
    const Dataset dataset = Made(Distinct({5, 1, 17, 9, 2}));  // 34 characters, 39 tokens
    auto batches = Batches::Create(&dataset, context, "documents", 2 * context, 3);
    ASSERT_TRUE(batches.ok()) << batches.status();
    // 40 epochs in whole rows: the lowest common multiple of both lengths.
    const int64_t steps = 40 * 39 / 2;
    std::map<int32_t, int64_t> seen;
    for (int64_t step = 1; step <= steps; ++step) {
      for (const int32_t token : Get(*batches, step).tokens) ++seen[token];
    }
    // steps * 2 * context tokens are 40 * context epochs.
    EXPECT_EQ(seen[256], 5 * 40 * context);
    seen.erase(256);
    EXPECT_EQ(seen.size(), 34u);
    for (const auto& [token, count] : seen) EXPECT_EQ(count, 40 * context) << token;
  }
}

TEST_F(BatchesTest, WithinTheFirstEpochNothingComesTwice) {
  const Dataset dataset = Made(Distinct({30, 1, 60, 9}));  // 104 tokens
  auto batches = Batches::Create(&dataset, 8, "stream", 8, 1);
  std::multiset<int32_t> seen;
  for (int64_t step = 1; step <= 13; ++step) {
    for (const int32_t token : Get(*batches, step).tokens) seen.insert(token);
  }
  for (int32_t token = 1; token <= 100; ++token) EXPECT_EQ(seen.count(token), 1u) << token;
}

TEST_F(BatchesTest, ABatchIsAFunctionOfItsStepAlone) {
  const Dataset dataset = Made(Distinct({5, 1, 17, 9, 2, 30}));
  auto in_order = Batches::Create(&dataset, 8, "documents", 24, 5);
  std::map<int64_t, Batch> batches;
  for (int64_t step = 1; step <= 30; ++step) batches[step] = Get(*in_order, step);
  for (const int64_t step : {17, 3, 30, 1, 18}) {
    auto fresh = Batches::Create(&dataset, 8, "documents", 24, 5);
    for (Batches* either : {&*fresh, &*in_order}) {
      const Batch batch = Get(*either, step);
      EXPECT_EQ(batch.tokens, batches[step].tokens);
      EXPECT_EQ(batch.targets, batches[step].targets);
      EXPECT_EQ(batch.document_starts, batches[step].document_starts);
    }
  }
}

TEST_F(BatchesTest, RanksShareTheSameBatchOut) {
  const Dataset dataset = Made(Distinct({40, 20, 13}));
  auto whole = Batches::Create(&dataset, 4, "documents", 24, 5);
  for (const int ranks : {2, 3, 6}) {
    for (int64_t step = 1; step <= 5; ++step) {
      std::vector<int32_t> joined;
      for (int rank = 0; rank < ranks; ++rank) {
        auto own = Batches::Create(&dataset, 4, "documents", 24, 5);
        Batch part;
        ASSERT_TRUE(own->Fill(step, rank * 6 / ranks, 6 / ranks, &part).ok());
        joined.insert(joined.end(), part.tokens.begin(), part.tokens.end());
      }
      EXPECT_EQ(joined, Get(*whole, step).tokens);
    }
  }
}

TEST_F(BatchesTest, SeedsAndEpochsDiffer) {
  const Dataset dataset = Made(Distinct({10, 10, 10, 10, 10, 10}));  // 66 tokens
  auto one = Batches::Create(&dataset, 11, "documents", 66, 1);
  auto two = Batches::Create(&dataset, 11, "documents", 66, 2);
  EXPECT_NE(Get(*one, 1).tokens, Get(*two, 1).tokens);
  EXPECT_NE(Get(*one, 1).tokens, Get(*one, 2).tokens);
}

TEST_F(BatchesTest, DocumentsAreMaskedAtTheirEndsAndStreamsAreNot) {
  const Dataset dataset = Made({"ab", "c"});  // 256 a b 256 c
  for (uint64_t seed = 0; seed < 4; ++seed) {
    auto masked = Batches::Create(&dataset, 5, "documents", 5, seed);
    auto stream = Batches::Create(&dataset, 5, "stream", 5, seed);
    const Batch batch = Get(*masked, 1), plain = Get(*stream, 1);
    EXPECT_EQ(batch.tokens, plain.tokens);
    EXPECT_TRUE(plain.document_starts.empty());
    if (batch.tokens[1] == 'a') {
      EXPECT_THAT(batch.tokens, ElementsAre(256, 'a', 'b', 256, 'c'));
      EXPECT_THAT(batch.targets, ElementsAre('a', 'b', -1, 'c', -1));
      EXPECT_THAT(batch.document_starts, ElementsAre(0, 0, 0, 3, 3));
    } else {
      EXPECT_THAT(batch.tokens, ElementsAre(256, 'c', 256, 'a', 'b'));
      EXPECT_THAT(batch.targets, ElementsAre('c', -1, 'a', 'b', -1));
      EXPECT_THAT(batch.document_starts, ElementsAre(0, 0, 2, 2, 2));
    }
    EXPECT_THAT(plain.targets, testing::Not(testing::Contains(-1)));
    EXPECT_EQ(plain.targets[4], 256);  // the next epoch's first token
  }
}

TEST_F(BatchesTest, ADocumentLongerThanARowGoesOnFromTheRowsStart) {
  const Dataset dataset = Made(Distinct({15}));
  auto batches = Batches::Create(&dataset, 4, "documents", 16, 0);
  const Batch batch = Get(*batches, 1);
  EXPECT_THAT(batch.document_starts, Each(0));
  for (size_t i = 0; i < batch.tokens.size(); ++i) {
    const int32_t token = batch.tokens[i];
    EXPECT_EQ(batch.targets[i], token == 256 ? 1 : token == 15 ? -1 : token + 1);
  }
}

TEST_F(BatchesTest, ATextSmallerThanARowIsRepeated) {
  const Dataset dataset = Made({"a"});
  auto batches = Batches::Create(&dataset, 7, "documents", 14, 0);
  const Batch batch = Get(*batches, 1);
  EXPECT_EQ(std::count(batch.tokens.begin(), batch.tokens.end(), 'a'), 7);
  EXPECT_EQ(std::count(batch.targets.begin(), batch.targets.end(), 'a'), 7);
}

TEST_F(BatchesTest, SizesThatDoNotFitAreErrors) {
  const Dataset dataset = Made({"abc"});
  EXPECT_EQ(Batches::Create(&dataset, 0, "documents", 4, 0).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Batches::Create(&dataset, 4, "documents", 6, 0).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Batches::Create(&dataset, 4, "documents", 0, 0).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Batches::Create(&dataset, 4, "rows", 8, 0).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(BatchesTest, DamagedTokensAreSaidNotTrainedOn) {
  const std::string hash = MakeDataset(home_, {"abc"});
  Write("datasets/" + hash + "/tokens.bin", std::string(8, '\x7f'));
  const Dataset dataset = *Dataset::Open(home_, hash);
  auto batches = Batches::Create(&dataset, 4, "documents", 4, 0);
  Batch batch;
  EXPECT_EQ(batches->Fill(1, 0, 1, &batch).code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace gyre
