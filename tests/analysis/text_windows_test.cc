#include "analysis/text_windows.h"

#include <gmock/gmock.h>

#include <numeric>

namespace gyre {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int32_t> Count(int count) {
  std::vector<int32_t> text(static_cast<size_t>(count));
  std::iota(text.begin(), text.end(), 10);
  return text;
}

TEST(CutWindows, AreEvenlySpacedAmongTheFullOnes) {
  const auto windows = CutWindows(Count(23), 1, 100, 4, 3);
  ASSERT_TRUE(windows.ok()) << windows.status();
  ASSERT_EQ(windows->size(), 3u);  // of 5 full ones: the first, second, fourth
  EXPECT_THAT((*windows)[0].tokens, ElementsAre(1, 10, 11, 12));
  EXPECT_THAT((*windows)[0].targets, ElementsAre(10, 11, 12, 13));
  EXPECT_THAT((*windows)[1].tokens, ElementsAre(1, 14, 15, 16));
  EXPECT_THAT((*windows)[2].targets, ElementsAre(22, 23, 24, 25));
}

TEST(CutWindows, WithoutADocumentStartAreTheTextItself) {
  const auto windows = CutWindows(Count(8), -1, 100, 4, 16);
  ASSERT_TRUE(windows.ok()) << windows.status();
  ASSERT_EQ(windows->size(), 2u);
  EXPECT_THAT((*windows)[0].tokens, ElementsAre(10, 11, 12, 13));
  EXPECT_THAT((*windows)[0].targets, ElementsAre(11, 12, 13, 14));
  EXPECT_THAT((*windows)[1].targets, ElementsAre(15, 16, 17, -1));
}

TEST(CutWindows, AShortTextIsOneWindow) {
  const auto windows = CutWindows(Count(3), 1, 100, 512, 16);
  ASSERT_TRUE(windows.ok()) << windows.status();
  ASSERT_EQ(windows->size(), 1u);
  EXPECT_THAT((*windows)[0].tokens, ElementsAre(1, 10, 11));
}

TEST(CutWindows, SayWhatIsNoText) {
  EXPECT_THAT(CutWindows({}, 1, 100, 4, 3).status().message(), HasSubstr("the text is empty"));
  EXPECT_THAT(CutWindows(Count(1), 1, 100, 4, 3).status().message(), HasSubstr("a single token"));
  const Status beyond = CutWindows(Count(8), 1, 15, 4, 3).status();
  EXPECT_EQ(beyond.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(beyond.message(), HasSubstr("token 5 of the text is 15, and the model's vocabulary "
                                          "has 0 to 14"));
}

}  // namespace
}  // namespace gyre
