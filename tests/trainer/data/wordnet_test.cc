#include "trainer/data/wordnet.h"

#include <gmock/gmock.h>

namespace gyre {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// In WordNet's format, written for this test.
constexpr char kNouns[] =
    "  1 This is where the licence stands  \n"
    "00000010 03 n 01 thing 0 001 ~ 00000020 n 0000 | what there is  \n"
    "00000020 06 n 03 big_wheel 0 rota 0 Wheel(p) 1 002 @ 00000010 n 0000 #p 00000010 n 0000 | a "
    "thing that turns; \"the big wheel turns\"; \"reinvent the rota\"  \n";
constexpr char kVerbs[] =
    "00000010 38 v 0a a 0 b 0 c 0 d 0 e 0 f 0 g 0 h 0 i 0 j 0 000 01 + 02 00 | go around  \n";

TEST(WordnetTest, SynsetsAreRead) {
  const auto synsets = ReadSynsets(kNouns);
  ASSERT_TRUE(synsets.ok()) << synsets.status();
  ASSERT_EQ(synsets->size(), 2u);
  const Synset& wheel = synsets->at(1);
  EXPECT_EQ(wheel.id, "n00000020");
  EXPECT_THAT(wheel.words, ElementsAre("big wheel", "rota", "Wheel"));
  EXPECT_EQ(wheel.definition, "a thing that turns");
  EXPECT_THAT(wheel.examples, ElementsAre("the big wheel turns", "reinvent the rota"));
  EXPECT_EQ(wheel.hypernym, "n00000010");
  EXPECT_EQ(ReadSynsets(kVerbs)->at(0).words.size(), 10u) << "the count is hexadecimal";
}

TEST(WordnetTest, QuestionsOfFiveKindsAllOnOneSide) {
  const auto text = WordnetQuestions({kNouns, kVerbs});
  ASSERT_TRUE(text.ok()) << text.status();
  std::vector<std::string> all = text->train;
  all.insert(all.end(), text->validation.begin(), text->validation.end());
  // thing: what it means, and a word for it. wheel: 3 + 1, synonyms, a kind of, 2 sentences. a: 10
  // + 1, synonyms.
  EXPECT_EQ(all.size(), 2u + 8 + 12);
  for (const std::string& document : all) {
    EXPECT_THAT(document, testing::StartsWith("Question: "));
    EXPECT_THAT(document, HasSubstr("\nAnswer: "));
    EXPECT_EQ(document.back(), '\n');
    EXPECT_EQ(document.find_first_of("#$"), std::string::npos) << document;
  }
  const std::string joined = [&all] {
    std::string text;
    for (const std::string& document : all) text += document;
    return text;
  }();
  EXPECT_THAT(joined, HasSubstr("Answer: rota, Wheel\n"));
  EXPECT_THAT(joined, HasSubstr("Answer: thing\n"));
  EXPECT_THAT(joined, HasSubstr("Answer: reinvent the rota\n"));
  EXPECT_EQ(text->train, WordnetQuestions({kNouns, kVerbs})->train);
}

TEST(WordnetTest, HeldOutSynsetsHaveNoQuestionInTraining) {
  std::string nouns;
  for (int i = 1; i <= 400; ++i) {
    const std::string n = std::to_string(1000000 + i);
    nouns += "0" + n + " 03 n 02 word" + n + " 0 other" + n + " 0 000 | meaning" + n +
             "; \"say word" + n + "\"  \n";
  }
  const auto text = WordnetQuestions({nouns});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_NEAR(static_cast<double>(text->validation.size()) / (400 * 5), 0.05, 0.03);
  std::string training;
  for (const std::string& document : text->train) training += document;
  for (const std::string& document : text->validation) {
    const size_t digits = document.find("1000");
    ASSERT_NE(digits, std::string::npos);
    EXPECT_EQ(training.find(document.substr(digits, 7)), std::string::npos);
  }
}

TEST(WordnetTest, WhatIsNoSynsetIsSaid) {
  for (const char* bad :
       {"x", "00000010 03 n 02 thing 0 | too few words", "00000010 03 n 01 thing 0 000 no gloss",
        "00000010 03 noun 01 thing 0 000 | x", "00000010 03 n ffffffff a 0 | x"}) {
    EXPECT_EQ(ReadSynsets(bad).status().code(), StatusCode::kDataLoss) << bad;
  }
  EXPECT_EQ(WordnetQuestions({"", "  only a licence"}).status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace gyre
