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

TEST_F(BatchesTest, EveryTokenOfAnEpochIsATargetExactlyOnce) {
  const Dataset dataset = Made(Distinct({5, 1, 17, 9, 2}));  // 34 characters, 39 tokens
  for (const std::string packing : {"documents", "stream"}) {
    const int64_t epoch = packing == "documents" ? 34 : 39;
    for (const int context : {1, 4, 7, 16, 50}) {
      auto batches = Batches::Create({{&dataset}}, context, packing, 2 * context, 3);
      ASSERT_TRUE(batches.ok()) << batches.status();
      std::map<int32_t, int64_t> seen;
      // 20 * epoch steps of 2 * context targets are 40 * context epochs.
      for (int64_t step = 1; step <= 20 * epoch; ++step) {
        for (const int32_t target : Get(*batches, step).targets) ++seen[target];
      }
      EXPECT_EQ(seen[256], packing == "documents" ? 0 : 5 * 40 * context);
      seen.erase(256);
      EXPECT_EQ(seen.size(), 34u);
      for (const auto& [target, count] : seen) EXPECT_EQ(count, 40 * context) << target;
    }
  }
}

TEST_F(BatchesTest, WithinTheFirstEpochNothingComesTwice) {
  const Dataset dataset = Made(Distinct({30, 1, 60, 9}));  // 100 characters, 104 tokens
  auto batches = Batches::Create({{&dataset}}, 8, "stream", 8, 1);
  std::multiset<int32_t> seen;
  for (int64_t step = 1; step <= 13; ++step) {
    for (const int32_t target : Get(*batches, step).targets) seen.insert(target);
  }
  for (int32_t target = 1; target <= 100; ++target) EXPECT_EQ(seen.count(target), 1u) << target;
}

TEST_F(BatchesTest, ABatchIsAFunctionOfItsStepAlone) {
  const Dataset dataset = Made(Distinct({5, 1, 17, 9, 2, 30}));
  auto in_order = Batches::Create({{&dataset}}, 8, "documents", 24, 5);
  std::map<int64_t, Batch> batches;
  for (int64_t step = 1; step <= 30; ++step) batches[step] = Get(*in_order, step);
  for (const int64_t step : {17, 3, 30, 1, 18}) {
    auto fresh = Batches::Create({{&dataset}}, 8, "documents", 24, 5);
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
  auto whole = Batches::Create({{&dataset}}, 4, "documents", 24, 5);
  for (const int ranks : {2, 3, 6}) {
    for (int64_t step = 1; step <= 5; ++step) {
      std::vector<int32_t> joined;
      for (int rank = 0; rank < ranks; ++rank) {
        auto own = Batches::Create({{&dataset}}, 4, "documents", 24, 5);
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
  auto one = Batches::Create({{&dataset}}, 11, "documents", 66, 1);
  auto two = Batches::Create({{&dataset}}, 11, "documents", 66, 2);
  EXPECT_NE(Get(*one, 1).tokens, Get(*two, 1).tokens);
  EXPECT_NE(Get(*one, 1).tokens, Get(*one, 2).tokens);
}

TEST_F(BatchesTest, DocumentsInARowAreKeptApart) {
  const Dataset dataset = Made({"ab", "c"});  // 256 a b 256 c
  for (uint64_t seed = 0; seed < 6; ++seed) {
    auto batches = Batches::Create({{&dataset}}, 3, "documents", 3, seed);
    const Batch batch = Get(*batches, 1);
    if (batch.targets[0] == 'a') {
      EXPECT_THAT(batch.tokens, ElementsAre(256, 'a', 256));
      EXPECT_THAT(batch.targets, ElementsAre('a', 'b', 'c'));
      EXPECT_THAT(batch.document_starts, ElementsAre(0, 0, 2));
    } else {
      EXPECT_THAT(batch.tokens, ElementsAre(256, 256, 'a'));
      EXPECT_THAT(batch.targets, ElementsAre('c', 'a', 'b'));
      EXPECT_THAT(batch.document_starts, ElementsAre(0, 1, 1));
    }
  }
}

TEST_F(BatchesTest, InAStreamTheyAreNot) {
  const Dataset dataset = Made({"ab", "c"});
  for (uint64_t seed = 0; seed < 6; ++seed) {
    auto batches = Batches::Create({{&dataset}}, 5, "stream", 5, seed);
    const Batch batch = Get(*batches, 1);
    EXPECT_TRUE(batch.document_starts.empty());
    EXPECT_THAT(batch.targets, testing::AnyOf(ElementsAre(256, 'a', 'b', 256, 'c'),
                                              ElementsAre(256, 'c', 256, 'a', 'b')));
    EXPECT_EQ(batch.tokens[0], 256);
    for (size_t i = 1; i < 5; ++i) EXPECT_EQ(batch.tokens[i], batch.targets[i - 1]);
  }
}

TEST_F(BatchesTest, ARowWithinADocumentBeginsLikeAnEvaluationWindow) {
  const Dataset dataset = Made(Distinct({16}));
  auto batches = Batches::Create({{&dataset}}, 4, "documents", 16, 0);
  const Batch batch = Get(*batches, 1);
  EXPECT_TRUE(batch.document_starts.empty()) << "every row is one document";
  std::set<int32_t> firsts;
  for (size_t row = 0; row < 4; ++row) {
    const int32_t first = batch.targets[4 * row];
    firsts.insert(first);
    const std::vector<int32_t> tokens(batch.tokens.begin() + 4 * row,
                                      batch.tokens.begin() + 4 * row + 4);
    EXPECT_THAT(tokens, ElementsAre(256, first, first + 1, first + 2));
  }
  EXPECT_THAT(firsts, ElementsAre(1, 5, 9, 13));
}

TEST_F(BatchesTest, ATextSmallerThanARowIsRepeated) {
  const Dataset dataset = Made({"a"});
  auto batches = Batches::Create({{&dataset}}, 7, "documents", 14, 0);
  const Batch batch = Get(*batches, 1);
  EXPECT_THAT(batch.targets, Each('a'));
  EXPECT_THAT(batch.tokens, Each(256));
}

TEST_F(BatchesTest, SizesThatDoNotFitAreErrors) {
  const Dataset dataset = Made({"abc"});
  EXPECT_EQ(Batches::Create({{&dataset}}, 0, "documents", 4, 0).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Batches::Create({{&dataset}}, 4, "documents", 6, 0).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Batches::Create({{&dataset}}, 4, "documents", 0, 0).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Batches::Create({{&dataset}}, 4, "rows", 8, 0).status().code(),
            StatusCode::kInvalidArgument);
  const Dataset empty = Made({"", ""});
  EXPECT_EQ(Batches::Create({{&empty}}, 4, "documents", 8, 0).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(BatchesTest, DamagedTokensAreSaidNotTrainedOn) {
  const std::string hash = MakeDataset(home_, {"abc"});
  Write("datasets/" + hash + "/tokens.bin", std::string("\0\1", 2) + std::string(6, '\x7f'));
  const Dataset dataset = *Dataset::Open(home_, hash);
  auto batches = Batches::Create({{&dataset}}, 4, "documents", 4, 0);
  Batch batch;
  EXPECT_EQ(batches->Fill(1, 0, 1, &batch).code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace gyre
