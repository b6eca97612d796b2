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

TEST_F(WindowsTest, StatisticsComeFromEvenlySpacedFullWindows) {
  // Windows of 3: full ones are 0 to 3, 5 and 6; 4 has one token, 7 has two.
  const Dataset dataset = Made({"abcdefghijklm", "", "nopqrstu"});
  const auto windows = Windows::Create(&dataset, 3);
  ASSERT_EQ(windows->full(), 6);
  EXPECT_THAT(windows->ForStatistics(3), ElementsAre(0, 2, 5));
  EXPECT_THAT(windows->ForStatistics(1), ElementsAre(0));
  EXPECT_THAT(windows->ForStatistics(6), ElementsAre(0, 1, 2, 3, 5, 6));
  // Beyond the full ones the longest.
  EXPECT_THAT(windows->ForStatistics(7), ElementsAre(0, 1, 2, 3, 5, 6, 7));
  EXPECT_THAT(windows->ForStatistics(100), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(windows->LengthOf(3), 3);
  EXPECT_EQ(windows->LengthOf(4), 1);
  EXPECT_EQ(windows->LengthOf(7), 2);
}

TEST_F(WindowsTest, OfEquallyLongWindowsTheFirstAreTaken) {
  const Dataset dataset = Made({"a", "bcd", "ef", "ghi", "jk"});
  const auto windows = Windows::Create(&dataset, 10);
  EXPECT_THAT(windows->ForStatistics(3), ElementsAre(1, 2, 3));
  EXPECT_THAT(windows->ForStatistics(2), ElementsAre(1, 3));
}

TEST_F(WindowsTest, ChosenWindowsAreABatch) {
  const Dataset dataset = Made({"abcde", "fg"});
  const auto windows = Windows::Create(&dataset, 3);
  Batch batch;
  const std::vector<int64_t> chosen = {2, 0};
  ASSERT_TRUE(windows->Fill(chosen, &batch).ok());
  EXPECT_THAT(batch.targets, ElementsAre('f', 'g', -1, 'a', 'b', 'c'));
  EXPECT_THAT(batch.tokens, ElementsAre(256, 'f', 256, 256, 'a', 'b'));
}

TEST_F(WindowsTest, EachWindowKnowsItsDocument) {
  const Dataset dataset = Made({"abcde", "", "fg"});
  const auto windows = Windows::Create(&dataset, 3);
  EXPECT_EQ(windows->documents(), 3);
  EXPECT_EQ(windows->DocumentOf(3, 0), 0);
  EXPECT_EQ(windows->DocumentOf(3, 1), 0);
  EXPECT_EQ(windows->DocumentOf(3, 2), 2);
}

TEST_F(WindowsTest, ASetWithoutTextIsAnError) {
  const Dataset dataset = Made({"", ""});
  EXPECT_EQ(Windows::Create(&dataset, 10).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gyre
