#include "trainer/data/gcide.h"

#include <gmock/gmock.h>

namespace gyre {
namespace {

using testing::UnorderedElementsAre;

// In the dictionary's format, written for this test.
constexpr char kDictionary[] = R"(00-database-long
   A dictionary, with a description
Free software; see the file COPYING.

Alpha \Al"pha\, n. [L., fr. Gr. 'a`lfa [see {Note}].]
   1. The first letter; hence, the
      {beginning} ; the first of all. [Obs.] --Anybody.
      [1913 Webster]

            I am the alpha of these quiet hills,
            And all of {them} are mine.           --Shak.
      [1913 Webster]

            Not this one.                         --Milton.

   2. "A bright star." --Shak.
      [1913 Webster]

      (a) A sub-definition with an author. --Shak.

Beta \Be"ta\, n.
   The second; as in "a second  [R.]
   thought". --Shak. Also called caf)"
                               "\xE9"
                               R"(.
   [1913 Webster +PJC]

         I am the ALPHA of these quiet hills -- and all
         of them are mine!                        --Shak.
   [1913 Webster]

Gamma
Gamma ray \Gam"ma\, n.
   A ray.
)";

TEST(GcideTest, EntriesArePlainProse) {
  const auto text = GcideText(kDictionary);
  ASSERT_TRUE(text.ok()) << text.status();
  std::vector<std::string> documents = text->train;
  documents.insert(documents.end(), text->validation.begin(), text->validation.end());
  EXPECT_THAT(
      documents,
      UnorderedElementsAre("Alpha, n. 1. The first letter; hence, the beginning; the first of all. "
                           "--Anybody.\nI am the alpha of these quiet hills, And all of them are "
                           "mine. --Shak.\nNot this one. --Milton.\n2. \"A bright star.\" "
                           "--Shak.\n(a) A sub-definition with an author. --Shak.\n",
                           "Beta, n. The second; as in \"a second thought\". --Shak. Also called "
                           "caf\xC3\xA9.\nI am the ALPHA of these quiet hills -- and all of them "
                           "are mine! --Shak.\n",
                           "Gamma Gamma ray, n. A ray.\n"));
  EXPECT_FALSE(text->validation.empty());
}

TEST(GcideTest, QuotationsComeOnceAndNothingElseDoes) {
  const auto text = ShakespeareQuotes(kDictionary);
  ASSERT_TRUE(text.ok()) << text.status();
  std::vector<std::string> documents = text->train;
  documents.insert(documents.end(), text->validation.begin(), text->validation.end());
  EXPECT_THAT(documents, UnorderedElementsAre(
                             "I am the alpha of these quiet hills, And all of them are mine.\n",
                             "A bright star.\n", "a second thought\n"));
}

TEST(GcideTest, LostBracketsTakeNothingAlong) {
  const std::string lost = "Word \\W\\, n.\n   Text [with a lost bracket " + std::string(400, 'x') +
                           " and more] after it. A \\ alone.\n";
  const auto text = GcideText(lost + "\nOther \\O\\, n.\n   Else.\n");
  ASSERT_TRUE(text.ok()) << text.status();
  std::string all;
  for (const std::string& document : text->train) all += document;
  for (const std::string& document : text->validation) all += document;
  EXPECT_THAT(all, testing::HasSubstr("[with a lost bracket"));
  EXPECT_THAT(all, testing::HasSubstr("after it. A \\ alone."));
}

TEST(GcideTest, WhatIsNoDictionaryIsSaid) {
  for (const char* bad : {"", "\n\n", "no entry here", "\\\\", "   indented \\x\\"}) {
    EXPECT_EQ(GcideText(bad).status().code(), StatusCode::kDataLoss) << bad;
    EXPECT_EQ(ShakespeareQuotes(bad).status().code(), StatusCode::kDataLoss) << bad;
  }
}

}  // namespace
}  // namespace gyre
