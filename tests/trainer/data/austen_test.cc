#include "trainer/data/austen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/data/made_rdata.h"

namespace gyre {
namespace {

using testing::ElementsAre;

TEST(AustenTest, AChapterBeginsAtItsHeadingAndTakesFrontMatterAndVolumeAlong) {
  const std::vector<std::string> lines = {
      "EMMA", "",          "VOLUME I", "", "CHAPTER I",      "Emma.", "VOLUME II", "",
      "",     "CHAPTER I", "She.",     "", "  Chapter 12. ", "End.",  "FINIS"};
  EXPECT_THAT(Chapters(lines),
              ElementsAre("EMMA\n\nVOLUME I\n\nCHAPTER I\nEmma.\n",
                          "VOLUME II\n\n\nCHAPTER I\nShe.\n\n", "  Chapter 12. \nEnd.\nFINIS"));
}

TEST(AustenTest, ProseThatMentionsChaptersIsNoHeading) {
  EXPECT_THAT(
      Chapters({"chapter of accidents", "CHAPTER", "CHAPTERI", "Chapter the last", "volume of"}),
      ElementsAre("chapter of accidents\nCHAPTER\nCHAPTERI\nChapter the last\nvolume of"));
}

TEST(AustenTest, PersuasionIsHeldOut) {
  using namespace made_rdata;
  const std::string emma = Block(Vector(3, {"EMMA", "CHAPTER I", "a", "CHAPTER II", "b"}));
  const std::string persuasion = Block(Vector(3, {"", "Persuasion", "Chapter 1", "c"}));
  const auto text = AustenText(emma + persuasion);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(text->train, ElementsAre("EMMA\nCHAPTER I\na\n", "CHAPTER II\nb"));
  EXPECT_THAT(text->validation, ElementsAre("\nPersuasion\nChapter 1\nc"));
  EXPECT_EQ(AustenText(emma).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(AustenText(persuasion).status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace gyre
