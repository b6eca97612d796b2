#include "trainer/data/sentencepiece.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/random.h"
#include "tests/trainer/data/temporary_home.h"
#include "trainer/data/dataset.h"
#include "trainer/data/text_chunks.h"
#include "trainer/data/tokenizer_store.h"

namespace gyre {
namespace {

using testing::HasSubstr;

// Something like prose: the same for the same seed.
std::string Prose(uint64_t seed, int words) {
  const Random random(seed, "prose");
  const std::vector<std::string> known = {
      "the",    "frequency", "of",        "a",           "rotary", "pair", "turns",
      "slowly", "while",     "positions", "caf\xC3\xA9", "1776",   "it's"};
  std::string text;
  for (int i = 0; i < words; ++i) {
    const auto index = static_cast<uint64_t>(i);
    text += known[random.Below(known.size(), 0, index)];
    const uint64_t then = random.Below(12, 1, index);
    text += then == 0 ? ".\n" : then == 1 ? ",  " : then == 2 ? "\n\n\t" : " ";
  }
  return text;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  return lines;
}

std::string Bytes(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  std::string bytes;
  for (const int32_t id : ids) bytes += tokenizer.BytesOf(id);
  return bytes;
}

std::vector<int32_t> Encode(Tokenizer& tokenizer, std::string_view text) {
  std::vector<int32_t> ids;
  EXPECT_EQ(tokenizer.Encode(text, /*last=*/true, &ids), text.size());
  return ids;
}

class SentencePieceTest : public TemporaryHomeTest {
 protected:
  static const std::string& Model() {
    static const std::string model = *TrainSentencePiece(Lines(Prose(1, 4000)), 340);
    return model;
  }
  static std::unique_ptr<Tokenizer> Open(const std::string& model) {
    auto tokenizer = OpenSentencePiece(model, "test.model");
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
    return *std::move(tokenizer);
  }
};

TEST_F(SentencePieceTest, WhatIsLearnedIsUsedAndNothingIsLost) {
  const auto tokenizer = Open(Model());
  EXPECT_EQ(tokenizer->vocab_size(), 340);
  EXPECT_EQ(tokenizer->document_start(), 1);
  const std::string text = Prose(2, 2000);
  const std::vector<int32_t> ids = Encode(*tokenizer, text);
  EXPECT_EQ(Bytes(*tokenizer, ids), text);
  EXPECT_LT(ids.size(), text.size() / 2);
  for (const int32_t id : ids) EXPECT_TRUE(id >= 3 && id < 340);
}

TEST_F(SentencePieceTest, EveryTextComesBack) {
  const auto tokenizer = Open(Model());
  std::vector<std::string> texts = {"",
                                    "\n",
                                    "  ",
                                    " leading and trailing  ",
                                    "a\r\nb\tc\n\n\n",
                                    std::string("NUL\0in it", 9),
                                    "a literal \xE2\x96\x81 sign",
                                    "\xEF\xBB\xBFmark",
                                    "caf\xE9 \xFF\xFE \xC3",
                                    "\xED\xA0\x80 surrogate, \xC0\x80 overlong",
                                    "\xEF\xBF\xBD replacement",
                                    "<s></s><unk><0x41>",
                                    "\xE2\x80\xA8\xC2\xA0\xE3\x80\x80 spaces of all kinds",
                                    "e\xCC\x81 and \xC3\xA9 stay different",
                                    "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E\xF0\x9F\xA4\x96",
                                    std::string(10'000, ' '),
                                    std::string(10'000, 'x'),
                                    std::string(5'000, '\n')};
  std::string euros;
  for (int i = 0; i < 5000; ++i) euros += "\xE2\x82\xAC";
  texts.push_back(euros);
  const Random random(3, "bytes");
  for (uint64_t i = 0; i < 300; ++i) {
    std::string text;
    for (uint64_t k = 0; k < random.Below(200, 0, i); ++k) {
      // Half of them from what UTF-8, spaces and line ends are made of.
      const char likely[] = {' ', '\n', '\r', '\t', 'a', '\xE2', '\x96', '\x81'};
      const uint64_t bits = random.Bits(i + 1, k);
      text += bits & 1 ? static_cast<char>(bits >> 8) : likely[(bits >> 8) % sizeof likely];
    }
    texts.push_back(text);
  }
  for (const std::string& text : texts) {
    EXPECT_EQ(Bytes(*tokenizer, Encode(*tokenizer, text)), text) << text.substr(0, 80);
  }
}

TEST_F(SentencePieceTest, IdsDoNotDependOnHowTheTextIsCut) {
  const auto whole = Open(Model());
  const std::string text = Prose(4, 600) + std::string(9000, 'z') + " " + Prose(5, 50) + "\xE2\x82";
  const std::vector<int32_t> expected = Encode(*whole, text);
  for (const size_t piece : {1, 7, 1000, 5000}) {
    const auto tokenizer = Open(Model());
    std::vector<int32_t> ids;
    std::string rest;
    for (size_t at = 0; at < text.size(); at += piece) {
      rest += text.substr(at, piece);
      rest.erase(0, tokenizer->Encode(rest, /*last=*/false, &ids));
      EXPECT_LE(rest.size(), kMaxChunkBytes + piece);
    }
    tokenizer->Encode(rest, /*last=*/true, &ids);
    EXPECT_EQ(ids, expected) << piece;
  }
}

TEST_F(SentencePieceTest, TheSameLinesGiveTheSameModel) {
  EXPECT_EQ(*TrainSentencePiece(Lines(Prose(1, 4000)), 340), Model());
  EXPECT_NE(*TrainSentencePiece(Lines(Prose(1, 4000)), 341), Model());
}

TEST_F(SentencePieceTest, VocabulariesThatDoNotFitTheTextSayWhatWould) {
  const Status small = TrainSentencePiece(Lines(Prose(1, 4000)), 270).status();
  EXPECT_EQ(small.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(small.message(), HasSubstr("with 259 fixed ids takes at least"));
  const Status large = TrainSentencePiece({"one two", "two three"}, 4096).status();
  EXPECT_EQ(large.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(large.message(), HasSubstr("a smaller vocabulary"));
  for (const std::vector<std::string>& nothing :
       {std::vector<std::string>{}, {""}, {"\xFF\xFE"}, {"\xE2\x96\x81"}}) {
    EXPECT_EQ(TrainSentencePiece(nothing, 300).status().code(), StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(TrainSentencePiece({"abcabc abc", "\xFF", std::string("\0", 1)}, 263).ok());
}

// Long lines were silently dropped at the library's default limit.
TEST_F(SentencePieceTest, LongLinesCount) {
  std::string line;
  while (line.size() < 50'000) line += "quixotic ";
  const auto tokenizer = Open(*TrainSentencePiece({line}, 275));
  const std::vector<int32_t> ids = Encode(*tokenizer, " quixotic");
  EXPECT_EQ(ids.size(), 1u);
}

TEST_F(SentencePieceTest, WhatIsNoModelIsRefused) {
  for (const std::string& bad : {std::string(), std::string("not a model"), std::string(100, '\0'),
                                 Model().substr(0, 1000), std::string("\x0A\x05hello")}) {
    const Status status = OpenSentencePiece(bad, "bad.model").status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << bad.size();
    EXPECT_THAT(status.message(), HasSubstr("bad.model"));
  }
  EXPECT_EQ(OpenTokenizerFile(Path("absent.model")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(OpenTokenizerFile(Write("bad.model", "no")).status().code(),
            StatusCode::kInvalidArgument);
  const auto good = OpenTokenizerFile(Write("caf\xC3\xA9/m\xC3\xB6.model", Model()));
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ((*good)->vocab_size(), 340);
}

class TokenizedTest : public TemporaryHomeTest {
 protected:
  std::string TextOf(const DatasetInfo& info) {
    const auto dataset = Dataset::Open(home_, info.hash);
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_TRUE(dataset->Verify().ok()) << dataset->Verify();
    const auto tokenizer = dataset->OpenTokenizer();
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
    std::vector<int32_t> ids(static_cast<size_t>(dataset->tokens()));
    EXPECT_TRUE(dataset->Read(0, ids).ok());
    return Bytes(**tokenizer, ids);
  }
  static DataConfig Data(const Json& train) {
    DataConfig data;
    data.train = train;
    data.tokenizer = {{"train", "bpe"}, {"vocab_size", 300}};
    return data;
  }
};

TEST_F(TokenizedTest, BothPartsHaveTheTokenizerOfTheTrainingText) {
  for (int i = 0; i < 20; ++i) {
    Write("texts/" + std::to_string(i) + ".txt", Prose(static_cast<uint64_t>(i), 100));
  }
  Write("other.txt", "Elsewhere: other words, \xE2\x82\xAC 5.\r\n");
  DataConfig data = Data(Path("texts"));
  data.validation = {{"held-out", Path("texts")}, {"other", Path("other.txt")}};
  const JobDatasetRequests requests = RequestsOf(data);
  const auto train = PrepareDataset(home_, requests.train.at(0).request, {});
  ASSERT_TRUE(train.ok()) << train.status();
  EXPECT_EQ(train->vocab_size, 300);
  for (const auto& [name, request] : requests.validation) {
    const auto set = PrepareDataset(home_, request, {});
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_EQ(set->tokenizer, train->tokenizer) << name;
    EXPECT_EQ(set->bytes, static_cast<int64_t>(TextOf(*set).size()));
    if (name == "other") {
      EXPECT_EQ(TextOf(*set), "Elsewhere: other words, \xE2\x82\xAC 5.\n");
    }
  }
  EXPECT_EQ(train->bytes, static_cast<int64_t>(TextOf(*train).size()));
  EXPECT_LT(train->tokens, train->bytes);

  // The model is part of the content.
  const auto dataset = Dataset::Open(home_, train->hash);
  Write("datasets/" + train->hash + "/tokenizer.model", "damaged");
  EXPECT_FALSE(dataset->Verify().ok());
  std::filesystem::remove(Path("datasets/" + train->hash + "/tokenizer.model"));
  EXPECT_FALSE(dataset->Verify().ok());
}

TEST_F(TokenizedTest, AnotherTrainingTextIsAnotherTokenizerAlsoForTheSameValidationText) {
  Write("a.txt", Prose(1, 900)), Write("b.txt", Prose(2, 900)), Write("v.txt", Prose(3, 50));
  std::vector<DatasetInfo> sets;
  for (const char* train : {"a.txt", "b.txt", "a.txt"}) {
    DataConfig data = Data(Path(train));
    data.validation = {{"v", Path("v.txt")}};
    const auto set = PrepareDataset(home_, RequestsOf(data).validation.at(0).second, {});
    ASSERT_TRUE(set.ok()) << set.status();
    sets.push_back(*set);
  }
  EXPECT_NE(sets[0].hash, sets[1].hash);
  EXPECT_EQ(sets[0].hash, sets[2].hash);
  // A training text that changes changes the tokenizer, and so the validation set.
  DataConfig data = Data(Path("a.txt"));
  data.validation = {{"v", Path("v.txt")}};
  const DatasetRequest request = RequestsOf(data).validation.at(0).second;
  EXPECT_TRUE(FindDataset(home_, request).ok());
  Write("a.txt", Prose(4, 900));
  EXPECT_EQ(FindDataset(home_, request).status().code(), StatusCode::kNotFound);
}

// Each document has a character of its own, and the fault says how many there were.
TEST_F(TokenizedTest, NothingThatIsHeldOutIsTrainedOn) {
  for (char c = 'a'; c <= 'z'; ++c) Write(std::string("texts/") + c + ".txt", std::string(50, c));
  const auto train = PrepareDataset(home_, {Path("texts"), "train", "bytes", 0.3}, {});
  ASSERT_TRUE(train.ok()) << train.status();
  ASSERT_LT(train->documents, 26);
  DataConfig data = Data(Path("texts"));
  data.tokenizer = {{"train", "bpe"}, {"vocab_size", 260}};
  data.holdout = 0.3;
  const JobDatasetRequests requests = RequestsOf(data);
  for (const DatasetRequest& request :
       {requests.train[0].request, requests.validation.at(0).second}) {
    EXPECT_THAT(PrepareDataset(home_, request, {}).status().message(),
                HasSubstr("has " + std::to_string(train->documents) + " different characters"));
  }
}

TEST_F(TokenizedTest, AGivenModelIsKnownByItsContent) {
  Write("a.txt", Prose(1, 900));
  const auto model = TrainSentencePiece(Lines(Prose(7, 900)), 310);
  const auto prepared = [&](const std::string& path) {
    return PrepareDataset(home_, {Path("a.txt"), "all", path, 0}, {});
  };
  const auto one = prepared(Write("one.model", *model)), two = prepared(Write("two.model", *model));
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->hash, two->hash);
  EXPECT_EQ(one->vocab_size, 310);
  EXPECT_EQ(TextOf(*one), Prose(1, 900));
  EXPECT_EQ(prepared(Path("absent.model")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(prepared(Write("bad.model", "x")).status().code(), StatusCode::kInvalidArgument);
}

TEST(TextChunksTest, ChunksAreSpacesAndTheWordAfterThem) {
  const auto chunks = [](std::string_view text, bool whole_lines) {
    std::vector<std::string> chunks;
    while (!text.empty()) {
      chunks.emplace_back(text.substr(0, NextChunk(text, true, whole_lines)));
      text.remove_prefix(chunks.back().size());
    }
    return chunks;
  };
  EXPECT_THAT(chunks("one two  three\n\n four ", false),
              testing::ElementsAre("one", " two", "  three", "\n\n", " four", " "));
  EXPECT_THAT(chunks("one two\n\nthree", true), testing::ElementsAre("one two", "\n\n", "three"));
  EXPECT_EQ(NextChunk("one", false, false), 0u);
  EXPECT_EQ(NextChunk("one ", false, false), 3u);
  EXPECT_EQ(NextChunk("\n\n", false, false), 0u);
}

TEST(TextChunksTest, CharactersAreStrictUtf8) {
  EXPECT_EQ(Utf8Character("a"), 1u);
  EXPECT_EQ(Utf8Character("\xC3\xA9x"), 2u);
  EXPECT_EQ(Utf8Character("\xE2\x82\xAC"), 3u);
  EXPECT_EQ(Utf8Character("\xF0\x9F\xA4\x96"), 4u);
  for (const char* bad : {"", "\x80", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
                          "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xE2\x82"}) {
    EXPECT_EQ(Utf8Character(bad), 0u);
  }
}

}  // namespace
}  // namespace gyre
