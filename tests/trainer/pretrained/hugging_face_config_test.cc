#include "trainer/pretrained/hugging_face_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "trainer/position/rotation.h"

namespace gyre {
namespace {

using ::testing::HasSubstr;

Json Minimal() {
  return {{"model_type", "llama"},        {"vocab_size", 50},       {"hidden_size", 64},
          {"intermediate_size", 96},      {"num_hidden_layers", 4}, {"num_attention_heads", 4},
          {"max_position_embeddings", 32}};
}

Json With(const Json& more) {
  Json json = Minimal();
  json.update(more);
  return json;
}

std::vector<LayerPosition> Positions(const Json& json, int length = 64) {
  auto config = ParseHuggingFaceConfig(json);
  EXPECT_TRUE(config.ok()) << config.status();
  if (!config.ok()) return {};
  auto layers = ResolvePositions(config->position, config->model, length);
  EXPECT_TRUE(layers.ok()) << layers.status();
  return layers.ok() ? *layers : std::vector<LayerPosition>();
}

std::string Error(const Json& json) {
  const auto config = ParseHuggingFaceConfig(json);
  EXPECT_EQ(config.status().code(), StatusCode::kInvalidArgument) << json;
  return config.status().message();
}

Json GyrePosition(const Json& position) {
  Json json = Minimal();
  json["gyre"]["position"] = position;
  return json;
}

TEST(HuggingFaceConfig, Defaults) {
  const auto config = ParseHuggingFaceConfig(Minimal());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->model.head_dim, 16);
  EXPECT_EQ(config->model.num_key_value_heads, 4);
  EXPECT_FALSE(config->model.tie_word_embeddings);
  EXPECT_FALSE(config->says_qk_norm);
  EXPECT_TRUE(ParseHuggingFaceConfig(With({{"model_type", "gemma"}}))->model.tie_word_embeddings);
}

// The block "gyre" and Hugging Face's keys say the same in every recorded case that the latter can
// express.
TEST(HuggingFaceConfig, BothSpellingsAgreeOnTheReferenceCases) {
  int cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/trainer/reference")) {
    if (!entry.is_directory() || entry.path().filename() == "llama-prope75-reversed") continue;
    SCOPED_TRACE(entry.path().filename());
    Json json = Json::parse(*ReadFile(entry.path() / "config.json"));
    const auto with = Positions(json);
    const bool qk_norm = ParseHuggingFaceConfig(json)->model.qk_norm;
    json.erase("gyre");
    EXPECT_EQ(with, Positions(json));
    EXPECT_EQ(qk_norm, ParseHuggingFaceConfig(json)->model.qk_norm);
    ++cases;
  }
  EXPECT_EQ(cases, 15);
}

TEST(HuggingFaceConfig, TheSameKeyMeansTwoThings) {
  const Json proportional =
      With({{"rope_parameters", {{"rope_type", "proportional"}, {"partial_rotary_factor", 0.5}}}});
  EXPECT_EQ(Positions(proportional), Positions(GyrePosition({{"p", 0.5}})));
  const auto respaced = Positions(GyrePosition({{"p", 0.5}, {"spacing", "respaced"}}));
  EXPECT_EQ(Positions(With(
                {{"rope_parameters", {{"rope_type", "default"}, {"partial_rotary_factor", 0.5}}}})),
            respaced);
  EXPECT_EQ(Positions(With({{"partial_rotary_factor", 0.5}})), respaced);
}

TEST(HuggingFaceConfig, ProportionalFactorIsInterpolation) {
  EXPECT_EQ(
      Positions(With(
          {{"rope_parameters",
            {{"rope_type", "proportional"}, {"partial_rotary_factor", 0.5}, {"factor", 4.0}}}})),
      Positions(GyrePosition({{"p", 0.5}, {"scaling", {{"type", "linear"}, {"factor", 4.0}}}})));
}

TEST(HuggingFaceConfig, OlderSpellings) {
  EXPECT_EQ(Positions(With({{"rope_theta", 5e5}, {"rope_scaling", nullptr}})),
            Positions(GyrePosition({{"theta", 5e5}})));
  EXPECT_EQ(Positions(With({{"rope_scaling", {{"type", "linear"}, {"factor", 2.0}}}})),
            Positions(GyrePosition({{"scaling", {{"type", "linear"}, {"factor", 2.0}}}})));
  EXPECT_EQ(
      Positions(With({{"rope_scaling", {{"type", "dynamic"}, {"factor", 2.0}}}})),
      Positions(GyrePosition(
          {{"scaling",
            {{"type", "dynamic"}, {"factor", 2.0}, {"original_max_position_embeddings", 32}}}})));
}

TEST(HuggingFaceConfig, LayersWithoutRope) {
  const Json layers = {
      {{"type", "rope"}}, {{"type", "nope"}}, {{"type", "rope"}}, {{"type", "nope"}}};
  const auto want = Positions(GyrePosition({{"layers", layers}}));
  EXPECT_EQ(Positions(With({{"no_rope_layers", {1, 0, 1, 0}}})), want);
  EXPECT_EQ(Positions(With({{"no_rope_layer_interval", 2}})), want);
}

TEST(HuggingFaceConfig, Windows) {
  const auto windows = [](const Json& json) {
    std::vector<int> found;
    for (const LayerPosition& layer : Positions(json)) found.push_back(layer.window);
    return found;
  };
  using Windows = std::vector<int>;
  EXPECT_EQ(windows(With({{"sliding_window", 8}})), (Windows{8, 8, 8, 8}));
  EXPECT_EQ(windows(With({{"sliding_window", nullptr}})), (Windows{0, 0, 0, 0}));
  EXPECT_EQ(windows(With({{"sliding_window", 8}, {"use_sliding_window", false}})),
            (Windows{0, 0, 0, 0}));
  EXPECT_EQ(windows(With({{"sliding_window", 8}, {"no_rope_layers", {1, 0, 1, 0}}})),
            (Windows{8, 8, 8, 8}));
  const Json types = {"sliding_attention", "full_attention", "full_attention", "sliding_attention"};
  EXPECT_EQ(windows(With({{"sliding_window", 8}, {"layer_types", types}})), (Windows{8, 0, 0, 8}));
}

TEST(HuggingFaceConfig, WhatWouldChangeTheNumbersIsNeverIgnored) {
  EXPECT_THAT(Error(Json::array()), HasSubstr("not a JSON object"));
  EXPECT_THAT(Error(With({{"hidden_size", 64.5}})),
              HasSubstr("hidden_size must be a whole number"));
  EXPECT_THAT(Error(With({{"num_attention_heads", 5}})), HasSubstr("head_dim is missing"));
  EXPECT_THAT(Error(With({{"hidden_act", "relu"}})), HasSubstr("hidden_act"));
  EXPECT_THAT(Error(With({{"mlp_bias", true}})), HasSubstr("biases"));
  EXPECT_THAT(Error(With({{"rope_scaling", {{"rope_type", "longrope"}}}})), HasSubstr("longrope"));
  EXPECT_THAT(Error(With({{"rope_scaling", {{"rope_type", "yarn"}, {"mscale", 1.0}}}})),
              HasSubstr("rope_scaling.mscale is not a key known here"));
  EXPECT_THAT(Error(With({{"layer_types", {"full_attention"}}})), HasSubstr("1 entries for 4"));
  EXPECT_THAT(Error(With({{"layer_types", {"chunked", "chunked", "chunked", "chunked"}}})),
              HasSubstr("'chunked'"));
  EXPECT_THAT(Error(With({{"no_rope_layers", {1, 0}}})), HasSubstr("2 entries for 4"));
  EXPECT_THAT(Error(GyrePosition({{"band", {1}}})), HasSubstr("gyre.position.band"));
  EXPECT_THAT(Error(GyrePosition({{"scaling", {{"type", "yarn"}, {"truncate", true}}}})),
              HasSubstr("gyre.position.scaling.truncate"));
  EXPECT_THAT(Error(With({{"num_hidden_layers", 1'000'000'000}})), HasSubstr("num_hidden_layers"));
}

}  // namespace
}  // namespace gyre
