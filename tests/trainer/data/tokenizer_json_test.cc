#include "trainer/data/tokenizer_json.h"

#include <gmock/gmock.h>

#include "base/files.h"
#include "base/random.h"
#include "tests/trainer/data/temporary_home.h"
#include "trainer/config/job_config.h"
#include "trainer/data/byte_pairs.h"
#include "trainer/data/tokenizer_store.h"

namespace gyre {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::filesystem::path kFolder = "tests/trainer/data/tokenizers";

Json ReadJson(const std::string& name) { return Json::parse(*ReadFile(kFolder / name)); }

// model.json with this pre-tokenizer.
Json WithPreTokenizer(const Json& pre_tokenizer) {
  Json json = ReadJson("model.json");
  json["pre_tokenizer"] = pre_tokenizer;
  return json;
}

Json ByteLevel() {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}};
}

std::unique_ptr<Tokenizer> Open(const Json& json) {
  auto tokenizer = OpenTokenizerJson(json.dump(), "tokenizer.json");
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return tokenizer.ok() ? *std::move(tokenizer) : nullptr;
}

std::vector<int32_t> Encode(Tokenizer& tokenizer, std::string_view text) {
  std::vector<int32_t> ids;
  EXPECT_EQ(tokenizer.Encode(text, /*last=*/true, &ids), text.size());
  return ids;
}

// The text in pieces of all lengths below `most`.
std::vector<int32_t> EncodeCut(Tokenizer& tokenizer, const std::string& text, uint64_t seed,
                               uint64_t most) {
  const Random random(seed, "cuts");
  std::vector<int32_t> ids;
  std::string rest;
  for (size_t at = 0, cut = 0; at < text.size(); ++cut) {
    const size_t length = std::min<size_t>(1 + random.Below(most, 0, cut), text.size() - at);
    rest += text.substr(at, length);
    at += length;
    rest.erase(0, tokenizer.Encode(rest, at == text.size(), &ids));
  }
  EXPECT_EQ(rest, "");
  return ids;
}

std::string BytesOf(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  std::string bytes;
  for (const int32_t id : ids) bytes += tokenizer.BytesOf(id);
  return bytes;
}

std::string Error(const Json& json) {
  const auto tokenizer = OpenTokenizerJson(json.dump(), "x/tokenizer.json");
  EXPECT_EQ(tokenizer.status().code(), StatusCode::kInvalidArgument);
  return tokenizer.status().message();
}

TEST(TokenizerJson, TheIdsAreHuggingFaces) {
  const Json expected = ReadJson("expected.json");
  int compared = 0;
  for (const Json& item : expected["cases"]) {
    SCOPED_TRACE(item["name"]);
    Json json = WithPreTokenizer(item["pre_tokenizer"]);
    json["model"]["ignore_merges"] = item["ignore_merges"];
    const auto tokenizer = Open(json);
    ASSERT_NE(tokenizer, nullptr);
    for (size_t i = 0; i < expected["texts"].size(); ++i) {
      const auto text = expected["texts"][i].get<std::string>();
      EXPECT_EQ(Encode(*tokenizer, text), item["ids"][i].get<std::vector<int32_t>>()) << text;
      for (uint64_t seed = 0; seed < 20; ++seed) {
        EXPECT_EQ(EncodeCut(*tokenizer, text, seed, 1 + seed),
                  item["ids"][i].get<std::vector<int32_t>>());
      }
      EXPECT_EQ(BytesOf(*tokenizer, Encode(*tokenizer, text)), text);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 48);
}

// As Hugging Face's tokenizers have it; PCRE2 alone takes U+180E for a space, which ends a piece.
TEST(TokenizerJson, MongoliansVowelSeparatorIsNoSpace) {
  Json json = WithPreTokenizer(ByteLevel());
  json["model"]["vocab"]["\xC4\xB0'"] = 421;  // its last byte, and an apostrophe
  json["model"]["merges"].push_back("\xC4\xB0 '");
  const auto tokenizer = Open(json);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_THAT(Encode(*tokenizer, "\xE1\xA0\x8E'"), ElementsAre(160, 257, 421));
  const std::string mixed = "a\xE1\xA0\x8E \xE1\xA0\xFF\xE1\xA0\x8E";
  EXPECT_EQ(BytesOf(*tokenizer, Encode(*tokenizer, mixed)), mixed);
}

// Bytes that are no text, and runs that no pattern ends, come back and do not depend on cuts.
TEST(TokenizerJson, AnyBytesHoweverTheyAreCut) {
  const auto tokenizer = Open(WithPreTokenizer(ByteLevel()));
  const Random random(3, "bytes");
  std::string text = "\xC3\xA9t\xC3\xA9 \xFF\xFE <th\xE4\xBD";
  for (uint64_t i = 0; i < 3000; ++i) {
    text += i % 3 == 0 ? static_cast<char>(random.Below(256, 0, i)) : ' ';
  }
  text += std::string(150'000, 'a') + std::string(70'000, ' ') + "<thing>\xE4";
  const std::vector<int32_t> ids = Encode(*tokenizer, text);
  EXPECT_EQ(BytesOf(*tokenizer, ids), text);
  for (const uint64_t most : {7000, 100'000}) {
    EXPECT_EQ(EncodeCut(*tokenizer, text, most, most), ids);
  }
}

TEST(TokenizerJson, WhatBeginsADocumentIsNoText) {
  auto tokenizer = Open(WithPreTokenizer(ByteLevel()));
  EXPECT_EQ(tokenizer->vocab_size(), 421);
  EXPECT_EQ(tokenizer->document_start(), 0);
  EXPECT_EQ(tokenizer->BytesOf(0), "");
  EXPECT_EQ(tokenizer->BytesOf(2), "<|im_end|>");
  EXPECT_GT(Encode(*tokenizer, "<|endoftext|>").size(), 3u);
  EXPECT_THAT(Encode(*tokenizer, "<|im_end|><thing>"), ElementsAre(2, 420));

  Json json = WithPreTokenizer(ByteLevel());
  json["post_processor"] = {{"type", "TemplateProcessing"},
                            {"single", {{{"SpecialToken", {{"id", "<|im_start|>"}}}}}}};
  EXPECT_EQ(Open(json)->document_start(), 1);
  json.erase("post_processor");
  json["added_tokens"] = {{{"id", 2}, {"content", "<|im_end|>"}, {"rstrip", true}}};
  tokenizer = Open(json);
  EXPECT_EQ(tokenizer->document_start(), 420);
  EXPECT_EQ(tokenizer->vocab_size(), 421);
  EXPECT_GT(Encode(*tokenizer, "<|im_end|>").size(), 3u);
}

TEST(TokenizerJson, ABytesWithoutATokenBecomesTheReplacement) {
  Json json = WithPreTokenizer(ByteLevel());
  json["model"]["vocab"].erase("\xC4\x84");  // of the byte 4
  const auto tokenizer = Open(json);
  EXPECT_EQ(BytesOf(*tokenizer, Encode(*tokenizer, "a\x04z")), "a\xEF\xBF\xBDz");
  json["model"]["vocab"].erase("\xC2\xBF");  // of BF
  json["model"]["merges"] = Json::array();
  EXPECT_THAT(Error(json), HasSubstr("no tokens for the bytes EF, BF, BD"));
}

TEST(TokenizerJson, WhatIsNotSupportedIsNamed) {
  EXPECT_THAT(Error(Json::array()), HasSubstr("x/tokenizer.json is not a tokenizer.json"));
  EXPECT_THAT(Error(Json::object()), HasSubstr("only BPE can be read"));
  const auto with = [](const char* key, const Json& value) {
    Json json = WithPreTokenizer(ByteLevel());
    json[Json::json_pointer(key)] = value;
    return json;
  };
  // As Llama 2 and Gemma have it.
  EXPECT_THAT(Error(with("/model/byte_fallback", true)), HasSubstr("tokenizer.model beside it"));
  EXPECT_THAT(Error(with("/normalizer", {{"type", "Prepend"}})), HasSubstr("tokenizer.model"));
  EXPECT_THAT(Error(with("/pre_tokenizer", {{"type", "Metaspace"}})), HasSubstr("'Metaspace'"));
  EXPECT_THAT(Error(with("/pre_tokenizer", nullptr)), HasSubstr("pre_tokenizer ''"));
  EXPECT_THAT(Error(with("/model/type", "WordPiece")), HasSubstr("'WordPiece'"));
  EXPECT_THAT(Error(with("/model/dropout", 0.1)), HasSubstr("model.dropout is set"));
  EXPECT_THAT(Error(with("/pre_tokenizer/add_prefix_space", true)), HasSubstr("add_prefix_space"));
  EXPECT_THAT(Error(with("/model/merges/3", "onlyone")), HasSubstr("merges[3] is not two tokens"));
  EXPECT_THAT(Error(with("/model/merges/3", {"zzz", "qqq"})), HasSubstr("merges[3] has 'zzz'"));
  EXPECT_THAT(Error(with("/model/vocab/new", -1)), HasSubstr("id -1"));
  EXPECT_THAT(Error(with("/model/vocab/new", int64_t{1} << 40)), HasSubstr("id 1099511627776"));
  EXPECT_THAT(Error(with("/added_tokens/0", Json::object())), HasSubstr("without id or content"));
  const auto split = [](const char* regex) {
    return Json{{"type", "Sequence"},
                {"pretokenizers",
                 {{{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}},
                  ByteLevel()}}};
  };
  EXPECT_THAT(Error(with("/pre_tokenizer", split("(a"))), HasSubstr("the pattern '(a' is none"));
  EXPECT_THAT(Error(with("/pre_tokenizer", split("(?<=a)b"))), HasSubstr("looks back"));
  EXPECT_NE(Open(with("/normalizer", {{"type", "NFC"}})), nullptr);
}

// A pattern that would take for ever gives up, and the text comes back all the same.
TEST(TokenizerJson, APatternsCostIsBounded) {
  Json pre = {{"type", "Sequence"},
              {"pretokenizers",
               {{{"type", "Split"}, {"pattern", {{"Regex", "(a+)+b"}}}, {"behavior", "Isolated"}},
                ByteLevel()}}};
  const auto tokenizer = Open(WithPreTokenizer(pre));
  const std::string text(40, 'a');
  EXPECT_EQ(BytesOf(*tokenizer, Encode(*tokenizer, text)), text);
}

TEST(BytePairs, TheLowestRankThenTheLeftmost) {
  const BytePairs pairs({{1, 1, 2}, {2, 2, 3}, {2, 1, 4}});
  std::vector<int> symbols = {1, 1, 1, 1, 1};
  pairs.Merge(&symbols);
  EXPECT_THAT(symbols, ElementsAre(3, 1));
  symbols = {1, 1, 1};
  pairs.Merge(&symbols);
  EXPECT_THAT(symbols, ElementsAre(4));
  symbols = {};
  pairs.Merge(&symbols);
  EXPECT_TRUE(symbols.empty());
}

class TokenizerFileTest : public TemporaryHomeTest {};

TEST_F(TokenizerFileTest, ARequestNamesIt) {
  const std::string content = WithPreTokenizer(ByteLevel()).dump();
  const std::string path = Write("tokenizer.json", content);
  const auto request = TokenizerRequestFromJson(Json(path));
  ASSERT_TRUE(request.ok()) << request.status();
  const auto tokenizer = OpenTokenizerFile(path);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_EQ((*tokenizer)->vocab_size(), 421);
  EXPECT_EQ((*tokenizer)->model(), content);
  const auto again = TokenizerWithIdentity((*tokenizer)->identity(), content);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->identity(), (*tokenizer)->identity());
  EXPECT_EQ(TokenizerWithIdentity((*tokenizer)->identity(), content + " ").status().code(),
            StatusCode::kDataLoss);
  EXPECT_EQ(OpenTokenizerFile(Path("absent.json")).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace gyre
