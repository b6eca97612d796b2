#include "trainer/data/windows.h"

#include <gmock/gmock.h>

#include "tests/trainer/data/made_dataset.h"
#include "tests/trainer/data/temporary_home.h"

namespace gyre {
namespace {

using testing::ElementsAre;

class WindowsTest : public TemporaryHomeTest {
 protected:
  Dataset Made(const std::vector<std::string>& documents) {
    return *Dataset::Open(home_, MakeDataset(home_, documents));
  }
  static Batch Get(const Windows& windows, int64_t sample, int64_t first, int rows) {
    Batch batch;
    EXPECT_TRUE(windows.Fill(sample, first, rows, &batch).ok());
    return batch;
  }
};

TEST_F(WindowsTest, EachPredictsOnePieceOfOneDocumentFromADocumentStart) {
  const Dataset dataset = Made({"abcde", "fg"});
  const auto windows = Windows::Create(&dataset, 3);
  ASSERT_TRUE(windows.ok()) << windows.status();
  EXPECT_EQ(windows->count(), 3);
  EXPECT_EQ(windows->targets(), 7);
  const Batch batch = Get(*windows, 3, 0, 3);
  EXPECT_EQ(batch.length, 3);
  EXPECT_TRUE(batch.document_starts.empty());
  EXPECT_THAT(batch.targets, ElementsAre('a', 'b', 'c', 'd', 'e', -1, 'f', 'g', -1));
  EXPECT_THAT(batch.tokens, ElementsAre(256, 'a', 'b', 256, 'd', 256, 256, 'f', 256));
}

TEST_F(WindowsTest, ABatchIsAsLongAsItsLongestWindow) {
  const Dataset dataset = Made({"ab", "c"});
  const auto windows = Windows::Create(&dataset, 100);
  const Batch batch = Get(*windows, 2, 0, 2);
  EXPECT_EQ(batch.length, 2);
  EXPECT_THAT(batch.tokens, ElementsAre(256, 'a', 256, 256));
  EXPECT_THAT(batch.targets, ElementsAre('a', 'b', 'c', -1));
}

TEST_F(WindowsTest, TheWholeSetPredictsEveryByteOnceHoweverItIsBatched) {
  std::vector<std::string> documents = {"Chapter one.", "x", "",
                                        "The second, which is longer than the first."};
  const Dataset dataset = Made(documents);
  for (const int context : {1, 5, 64}) {
    const auto windows = Windows::Create(&dataset, context);
    for (const int rows : {1, 3}) {
      std::string text;
      for (int64_t first = 0; first < windows->count(); first += rows) {
        const int now = static_cast<int>(std::min<int64_t>(rows, windows->count() - first));
        for (const int32_t target : Get(*windows, windows->count(), first, now).targets) {
          if (target >= 0) text += static_cast<char>(target);
        }
      }
      EXPECT_EQ(text, documents[0] + documents[1] + documents[3]);
      EXPECT_EQ(windows->targets(), static_cast<int64_t>(text.size()));
    }
  }
}

TEST_F(WindowsTest, TheSampleIsEvenlySpacedAndWorthTheTokensAsked) {
  const Dataset dataset = Made({std::string(1000, 'a'), std::string(1000, 'b')});
  const auto windows = Windows::Create(&dataset, 10);
  EXPECT_EQ(windows->SampleCount(0), 1);
  EXPECT_EQ(windows->SampleCount(100), 10);
  EXPECT_EQ(windows->SampleCount(101), 11);
  EXPECT_EQ(windows->SampleCount(1'000'000'000'000), 200);
  const Batch batch = Get(*windows, 10, 0, 10);
  EXPECT_EQ(std::count(batch.targets.begin(), batch.targets.end(), 'a'), 50);
  EXPECT_EQ(std::count(batch.targets.begin(), batch.targets.end(), 'b'), 50);
}

TEST_F(WindowsTest, ASetWithoutTextIsAnError) {
  const Dataset dataset = Made({"", ""});
  EXPECT_EQ(Windows::Create(&dataset, 10).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gyre
