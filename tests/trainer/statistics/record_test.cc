#include "trainer/statistics/record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gyre {
namespace {

using Json = nlohmann::ordered_json;

StatisticsRecord Made() {
  StatisticsRecord record{.step = 40, .tokens = 81920};
  record.frequency_norms = {{1, "q", 2, {1.5, 0.25}, {1.25, 0.125}}, {1, "v", 0, {3}, {4}}};
  record.logit_shares = {{0, 1, {0.5, 0.25}, {0.125, 0.0625}, {0.375, 0.1875}}};
  record.head_scores = {{0, 3, 0.5, 0.25, 0.125, 1.75, 12.5}};
  record.token_norms = {{1, "k", 1, {{1, 2}, {3, 4}, {5, 6}}}};
  record.attention_maps = {{1, 0, {{1, 0}, {0.75, 0.25}}}};
  record.document_losses = {{"wordnet", {10, 0, int64_t{1} << 40}, {20.5, 0, 3e12}}};
  return record;
}

std::string ErrorOf(const Json& json) {
  const auto record = StatisticsRecordFromJson(json);
  if (record.ok()) return "no error";
  EXPECT_EQ(record.status().code(), StatusCode::kInvalidArgument);
  return record.status().message();
}

TEST(StatisticsRecordTest, EverythingComesBack) {
  const Json json = ToJson(Made());
  const auto record = StatisticsRecordFromJson(Json::parse(json.dump()));
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(ToJson(*record).dump(1), json.dump(1));
  EXPECT_EQ(record->step, 40);
  EXPECT_EQ(record->frequency_norms[1].tensor, "v");
  EXPECT_EQ(record->logit_shares[0].others[1], 0.1875);
  EXPECT_EQ(record->head_scores[0].distance, 12.5);
  EXPECT_EQ(record->token_norms[0].norms[2][0], 5);
  EXPECT_EQ(record->attention_maps[0].weights[1][0], 0.75);
  EXPECT_EQ(record->document_losses[0].targets[2], int64_t{1} << 40);
}

TEST(StatisticsRecordTest, WhatIsEmptyIsAbsent) {
  EXPECT_EQ(ToJson({.step = 3, .tokens = 30}).dump(), R"({"step":3,"tokens":30})");
  const auto record = StatisticsRecordFromJson(Json::parse(R"({"tokens":30,"step":3})"));
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_TRUE(record->head_scores.empty());
}

TEST(StatisticsRecordTest, NumbersAreShort) {
  StatisticsRecord record;
  record.head_scores = {{0, 0, 1.0 / 3, 2e-9 / 3, 123456789, 0.1, 0}};
  const Json json = ToJson(record)["head_scores"][0];
  EXPECT_EQ(json["diagonal"].dump(), "0.3333333");
  EXPECT_EQ(json["previous"].dump(), "6.666667e-10");
  EXPECT_EQ(json["first"].dump(), "123456800.0");
  EXPECT_EQ(json["entropy"].dump(), "0.1");
  EXPECT_EQ(json["distance"].dump(), "0.0");
}

TEST(StatisticsRecordTest, WhatIsNotFiniteIsNull) {
  const double infinity = std::numeric_limits<double>::infinity();
  StatisticsRecord record;
  record.head_scores = {{0, 0, std::nan(""), infinity, -infinity, 1, 2}};
  record.frequency_norms = {{0, "q", 0, {std::nan(""), 1}, {2, infinity}}};
  const std::string text = ToJson(record).dump();
  EXPECT_NE(text.find(R"("diagonal":null,"previous":null,"first":null,"entropy":1.0)"),
            std::string::npos)
      << text;
  const auto back = StatisticsRecordFromJson(Json::parse(text));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(std::isnan(back->head_scores[0].previous));
  EXPECT_TRUE(std::isnan(back->frequency_norms[0].norms_without_first[1]));
  EXPECT_EQ(ToJson(*back).dump(), text);
}

TEST(StatisticsRecordTest, EveryMissingKeyIsNamed) {
  const Json whole = ToJson(Made());
  for (const auto& [list, items] : whole.items()) {
    if (!items.is_array()) {
      Json json = whole;
      json.erase(list);
      EXPECT_EQ(ErrorOf(json), list + " is missing");
      continue;
    }
    for (const auto& [key, value] : items[0].items()) {
      Json json = whole;
      json[list][0].erase(key);
      EXPECT_EQ(ErrorOf(json), list + "[0]." + key + " is missing");
    }
  }
}

TEST(StatisticsRecordTest, EveryWrongTypeIsNamed) {
  const Json whole = ToJson(Made());
  for (const auto& [list, items] : whole.items()) {
    for (const Json& wrong : {Json("x"), Json(true), Json{{"a", 1}}}) {
      Json json = whole;
      json[list] = wrong;
      EXPECT_NE(ErrorOf(json).find(list + " must be"), std::string::npos) << ErrorOf(json);
    }
    if (!items.is_array()) continue;
    for (const auto& [key, value] : items[0].items()) {
      for (const Json& wrong : {Json(-1.5), Json::array({"x"}), Json::object()}) {
        if (value.is_number_float() && wrong.is_number()) continue;
        Json json = whole;
        json[list][0][key] = wrong;
        EXPECT_NE(ErrorOf(json).find(list + "[0]." + key + " must be"), std::string::npos)
            << ErrorOf(json);
      }
    }
  }
}

TEST(StatisticsRecordTest, UnknownKeysAndWrongContainersAreNamed) {
  EXPECT_EQ(ErrorOf(Json(3)), "the statistics must be an object");
  EXPECT_EQ(ErrorOf(Json::array()), "the statistics must be an object");
  Json json = ToJson(Made());
  json["heads"] = 1;
  EXPECT_EQ(ErrorOf(json), "unknown key heads");
  json = ToJson(Made());
  json["head_scores"].push_back(7);
  EXPECT_EQ(ErrorOf(json), "head_scores[1] must be an object");
  json = ToJson(Made());
  json["attention_maps"][0]["queries"] = 1;
  EXPECT_EQ(ErrorOf(json), "unknown key attention_maps[0].queries");
}

TEST(StatisticsRecordTest, WhatBelongsTogetherHasOneLength) {
  const auto error_with = [](const char* list, const char* key, const char* value) {
    Json json = ToJson(Made());
    json[list][0][key] = Json::parse(value);
    return ErrorOf(json);
  };
  EXPECT_EQ(error_with("frequency_norms", "norms", "[1]"),
            "frequency_norms[0].norms and norms_without_first must be of one length, above 0");
  EXPECT_EQ(error_with("frequency_norms", "tensor", "\"o\""),
            "frequency_norms[0].tensor must be q, k or v");
  EXPECT_EQ(error_with("logit_shares", "first", "[]"),
            "logit_shares[0].contributions, first and others must be of one length, above 0");
  EXPECT_EQ(error_with("token_norms", "norms", "[[1], [1, 2]]"),
            "token_norms[0].norms must be lists of one length, above 0");
  EXPECT_EQ(error_with("token_norms", "norms", "[]"),
            "token_norms[0].norms must be lists of one length, above 0");
  EXPECT_EQ(error_with("attention_maps", "weights", "[[1, 0]]"),
            "attention_maps[0].weights must be as many lists as each of them has numbers, above 0");
  EXPECT_EQ(error_with("document_losses", "nats", "[1]"),
            "document_losses[0].targets and nats must be of one length");
  EXPECT_EQ(error_with("head_scores", "layer", "-1"),
            "head_scores[0].layer must be a whole number of at least 0");
  EXPECT_EQ(error_with("head_scores", "layer", "4294967296"),
            "head_scores[0].layer must be a whole number of at least 0");
}

}  // namespace
}  // namespace gyre
