// Made-up tasks: every answer is said where its distance says, and the texts made of them.

#include "trainer/data/task.h"

#include <gmock/gmock.h>

#include <set>

#include "tests/trainer/data/temporary_home.h"
#include "trainer/data/dataset.h"
#include "trainer/data/task_text.h"

namespace gyre {
namespace {

using testing::HasSubstr;

TaskMaker Maker(const std::string& task, Tokenizer* tokenizer, int keys = 4, int offset = 3) {
  auto maker = TaskMaker::Create(
      {.name = task, .task = task, .distances = {}, .keys = keys, .offset = offset}, tokenizer);
  EXPECT_TRUE(maker.ok()) << maker.status();
  return *std::move(maker);
}

TEST(TaskTest, EveryAnswerIsSaidSoManyTokensBefore) {
  const auto bytes = MakeByteTokenizer(), ids = MakeIdTokenizer(1000, -1);
  const Random random(7, "test");
  for (const std::string& task : TaskNames()) {
    for (Tokenizer* tokenizer : {bytes.get(), ids.get()}) {
      if (task == "passkey" && tokenizer == ids.get()) continue;
      const TaskMaker maker = Maker(task, tokenizer);
      for (const int length : {16, 100, 257}) {
        const int smallest = maker.SmallestDistance(), largest = maker.LargestDistance(length);
        if (smallest > largest) continue;
        for (const int distance : {smallest, (smallest + largest) / 2, largest}) {
          const TaskRow row = maker.Make(length, distance, random, 11);
          ASSERT_EQ(row.ids.size(), static_cast<size_t>(length)) << task;
          ASSERT_FALSE(row.answers.empty()) << task << " " << length << " " << distance;
          int before = 0;
          double sum = 0;
          for (const TaskAnswer& answer : row.answers) {
            EXPECT_GT(answer.first, before);
            before = answer.first + answer.count - 1;
            ASSERT_LT(before, length);
            sum += answer.distance;
            for (int k = answer.first; k <= before; ++k) {
              ASSERT_GE(k - answer.distance, 0) << task;
              EXPECT_EQ(row.ids[static_cast<size_t>(k)],
                        row.ids[static_cast<size_t>(k - answer.distance)])
                  << task << " " << length << " " << distance << " at " << k;
            }
          }
          EXPECT_EQ(sum, static_cast<double>(row.answers.size()) * distance) << task;
        }
      }
    }
  }
}

TEST(TaskTest, RowsAreAFunctionOfTheirNumber) {
  const auto bytes = MakeByteTokenizer();
  const Random random(0, "test");
  for (const std::string& task : TaskNames()) {
    const TaskMaker maker = Maker(task, bytes.get());
    const int distance = maker.SmallestDistance();
    EXPECT_EQ(maker.Make(200, distance, random, 3).ids, maker.Make(200, distance, random, 3).ids);
    EXPECT_NE(maker.Make(200, distance, random, 3).ids, maker.Make(200, distance, random, 4).ids);
  }
}

TEST(TaskTest, WhatFollowsASymbolIsKnown) {
  const auto bytes = MakeByteTokenizer();
  // Within a block of as many as there are, no symbol comes twice.
  const TaskRow row = Maker("induction", bytes.get()).Make(128, 64, Random(0, "test"), 0);
  EXPECT_EQ(std::set<int32_t>(row.ids.begin(), row.ids.begin() + 64).size(), 64u);
  EXPECT_EQ(row.answers.size(), 63u);
}

TEST(TaskTest, KeysDifferAndAreNoValues) {
  const auto bytes = MakeByteTokenizer();
  const TaskRow row = Maker("recall", bytes.get(), 8).Make(64, 30, Random(0, "test"), 0);
  std::set<int32_t> keys, values;
  for (const TaskAnswer& answer : row.answers) {
    keys.insert(row.ids[static_cast<size_t>(answer.first) - 1]);
    values.insert(row.ids[static_cast<size_t>(answer.first)]);
  }
  EXPECT_EQ(keys.size(), 8u);
  for (const int32_t value : values) EXPECT_FALSE(keys.contains(value));
}

TEST(TaskTest, APasskeyCanBeRead) {
  const auto bytes = MakeByteTokenizer();
  const TaskRow row = Maker("passkey", bytes.get()).Make(200, 100, Random(0, "test"), 0);
  const std::string text(row.ids.begin(), row.ids.end());
  const std::string answer = text.substr(static_cast<size_t>(row.answers[0].first));
  EXPECT_EQ(answer.size(), 6u);
  EXPECT_THAT(text, HasSubstr("The pass key is" + answer + ". The grass"));
  EXPECT_TRUE(text.ends_with("What is the pass key? The pass key is" + answer)) << text;
}

TEST(TaskTest, WhatCannotBeWrittenIsRefused) {
  const auto bytes = MakeByteTokenizer(), ids = MakeIdTokenizer(8, -1);
  const auto fault = [](const TaskConfig& task, Tokenizer* tokenizer) {
    const auto maker = TaskMaker::Create(task, tokenizer);
    EXPECT_EQ(maker.status().code(), StatusCode::kInvalidArgument);
    return maker.status().message();
  };
  EXPECT_THAT(fault({.name = "x", .task = "x", .distances = {}}, bytes.get()),
              HasSubstr("no task 'x'"));
  EXPECT_THAT(fault({.name = "p", .task = "passkey", .distances = {}}, ids.get()),
              HasSubstr("made of words"));
  EXPECT_THAT(fault({.name = "r", .task = "recall", .distances = {}, .keys = 4}, ids.get()),
              HasSubstr("at least 9 symbols, and there are 8"));
}

class TaskTextTest : public TemporaryHomeTest {
 protected:
  Result<DatasetInfo> Prepare(const Json& source, const std::string& part,
                              const Json& tokenizer = "bytes") {
    return PrepareDataset(home_, {source, part, tokenizer, 0.05}, {});
  }
};

TEST_F(TaskTextTest, IsATextLikeAnyOther) {
  DataConfig data;
  data.context = 100;
  data.train = "task:induction";
  const JobDatasetRequests requests = RequestsOf(data);
  EXPECT_EQ(requests.validation.at(0).first, "induction-text");
  const auto train = PrepareDataset(home_, requests.train.at(0).request, {});
  ASSERT_TRUE(train.ok()) << train.status();
  EXPECT_EQ(train->name, "task:induction");
  EXPECT_EQ(train->documents, kDefaultTaskDocuments);
  EXPECT_EQ(train->tokens, int64_t{kDefaultTaskDocuments} * 101);
  const auto held_out = PrepareDataset(home_, requests.validation.at(0).second, {});
  ASSERT_TRUE(held_out.ok()) << held_out.status();
  EXPECT_EQ(held_out->documents, kDefaultTaskDocuments / 16);
  EXPECT_NE(held_out->hash, train->hash);
}

TEST_F(TaskTextTest, ParametersMakeAnotherText) {
  const Json small{{"task", "recall"}, {"documents", 20}, {"length", 64}, {"keys", 4}};
  Json near = small;
  near["distance"] = {10, 20};
  const auto first = Prepare(small, "train"), other = Prepare(near, "train");
  ASSERT_TRUE(first.ok() && other.ok()) << first.status() << other.status();
  EXPECT_EQ(first->documents, 20);
  EXPECT_NE(first->hash, other->hash);
  const auto ids = Prepare(small, "train", {{"ids", 50}});
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(ids->vocab_size, 51);
  EXPECT_EQ(ids->tokens, 20 * 65);
}

TEST_F(TaskTextTest, WhatItCannotBeIsSaid) {
  const auto fault = [this](const Json& source, const Json& tokenizer = "bytes") {
    const auto info = Prepare(source, "train", tokenizer);
    EXPECT_EQ(info.status().code(), StatusCode::kInvalidArgument) << info.status();
    return info.status().message();
  };
  const Json passkey{{"task", "passkey"}, {"length", 64}};
  EXPECT_THAT(fault(passkey), HasSubstr("no room in 64 tokens"));
  EXPECT_THAT(fault({{"task", "passkey"}, {"length", 512}}, {{"ids", 300}}), HasSubstr("words"));
  EXPECT_THAT(fault({{"task", "indction"}, {"length", 64}}), HasSubstr("there are induction"));
  EXPECT_THAT(fault({{"task", "induction"}}), HasSubstr("needs the length"));
  EXPECT_THAT(fault({{"task", "induction"}, {"length", 64}, {"keys", 0}}), HasSubstr("keys"));
  EXPECT_THAT(fault({{"task", "induction"}, {"length", 64}, {"distance", {9, 3}}}),
              HasSubstr("distance"));
  EXPECT_THAT(fault({{"task", "induction"}, {"length", 64}, {"depth", 3}}),
              HasSubstr("and not 'depth'"));
}

}  // namespace
}  // namespace gyre
