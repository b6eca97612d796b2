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

using Rows = std::vector<std::pair<double, int>>;  // theta (0: does not rotate), window

Rows ThetasAndWindows(const Json& json) {
  const auto config = ParseHuggingFaceConfig(json);
  EXPECT_TRUE(config.ok()) << config.status();
  Rows rows;
  for (size_t l = 0; config.ok() && l < config->position.layers.size(); ++l) {
    const EncodingConfig& encoding = config->position.layers[l];
    rows.emplace_back(encoding.type == "rope" ? encoding.theta : 0, config->position.windows[l]);
  }
  return rows;
}

// The keys of Qwen's own files, in the spelling of transformers 4 and of 5.
TEST(HuggingFaceConfig, Qwen) {
  Json json = With({{"model_type", "qwen2"},
                    {"rope_theta", 1e6},
                    {"sliding_window", 16},
                    {"use_sliding_window", false},
                    {"max_window_layers", 2}});
  auto config = ParseHuggingFaceConfig(json);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->model.model_type, "llama");
  EXPECT_EQ(config->family, "qwen2");
  EXPECT_EQ(config->extras, ModelExtras{.qkv_bias = true});
  EXPECT_EQ(ThetasAndWindows(json), Rows(4, {1e6, 0}));
  json.erase("use_sliding_window");
  EXPECT_EQ(ThetasAndWindows(json), Rows(4, {1e6, 0}));
  json["use_sliding_window"] = true;
  EXPECT_EQ(ThetasAndWindows(json), (Rows{{1e6, 0}, {1e6, 0}, {1e6, 16}, {1e6, 16}}));

  json = With({{"model_type", "qwen3"},
               {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 1e6}}}});
  config = ParseHuggingFaceConfig(json);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->model.qk_norm && config->says_qk_norm);
  EXPECT_EQ(config->model.head_dim, 128);
  EXPECT_EQ(config->extras, ModelExtras());
  EXPECT_EQ(ThetasAndWindows(json), Rows(4, {1e6, 0}));
}

TEST(HuggingFaceConfig, GemmaTwo) {
  Json json = With({{"model_type", "gemma2"}, {"hidden_activation", "gelu_pytorch_tanh"}});
  auto config = ParseHuggingFaceConfig(json);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->model.model_type, "gemma");
  EXPECT_TRUE(config->model.tie_word_embeddings);
  EXPECT_FALSE(config->model.qk_norm);
  EXPECT_EQ(config->model.head_dim, 256);
  EXPECT_EQ(config->extras,
            (ModelExtras{.post_norms = true, .attention_softcap = 50, .logit_softcap = 30}));
  EXPECT_EQ(ThetasAndWindows(json), (Rows{{1e4, 4096}, {1e4, 0}, {1e4, 4096}, {1e4, 0}}));
  // Gemma 2 27B: 4608 / 32 = 144, and head_dim is 128.
  json.update({{"query_pre_attn_scalar", 144},
               {"head_dim", 128},
               {"attn_logit_softcapping", nullptr},
               {"final_logit_softcapping", 20.0}});
  config = ParseHuggingFaceConfig(json);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->extras,
            (ModelExtras{.post_norms = true, .query_scale = 1.0 / 12, .logit_softcap = 20}));
  json["query_pre_attn_scalar"] = 0;
  EXPECT_THAT(Error(json), HasSubstr("query_pre_attn_scalar must be above 0"));
}

TEST(HuggingFaceConfig, GemmaThreeInBothSpellings) {
  const Json flat = With({{"model_type", "gemma3_text"},
                          {"rope_theta", 1e6},
                          {"rope_local_base_freq", 1e4},
                          {"rope_scaling", {{"factor", 8.0}, {"rope_type", "linear"}}},
                          {"sliding_window", 16},
                          {"sliding_window_pattern", 3}});
  const auto config = ParseHuggingFaceConfig(flat);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->extras, (ModelExtras{.post_norms = true, .qk_norm_adds_one = true}));
  EXPECT_TRUE(config->model.qk_norm);
  EXPECT_EQ(ThetasAndWindows(flat), (Rows{{1e4, 16}, {1e4, 16}, {1e6, 0}, {1e4, 16}}));
  EXPECT_EQ(config->position.layers[0].scaling, ScalingConfig());
  EXPECT_EQ(config->position.layers[2].scaling.factor, 8);

  const Json nested =
      With({{"model_type", "gemma3_text"},
            {"sliding_window", 16},
            {"layer_types",
             {"sliding_attention", "sliding_attention", "full_attention", "sliding_attention"}},
            {"rope_parameters",
             {{"full_attention", {{"rope_type", "linear"}, {"rope_theta", 1e6}, {"factor", 8.0}}},
              {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 1e4}}}}}});
  EXPECT_EQ(Positions(flat), Positions(nested));
  EXPECT_THAT(Error(With({{"model_type", "gemma3_text"}, {"use_bidirectional_attention", true}})),
              HasSubstr("only decoders"));
}

// As gemma-3-4b-it has it: the text's part says only what differs from the class.
TEST(HuggingFaceConfig, TheTextOfAModelThatSees) {
  const Json json = {{"model_type", "gemma3"},
                     {"text_config",
                      {{"hidden_size", 2560},
                       {"intermediate_size", 10240},
                       {"model_type", "gemma3_text"},
                       {"num_hidden_layers", 34},
                       {"rope_scaling", {{"factor", 8.0}, {"rope_type", "linear"}}},
                       {"sliding_window", 1024}}},
                     {"vision_config", {{"hidden_size", 1152}}}};
  const auto config = ParseHuggingFaceConfig(json);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->model.vocab_size, 262208);
  EXPECT_EQ(config->model.num_attention_heads, 8);
  EXPECT_EQ(config->model.num_key_value_heads, 4);
  EXPECT_EQ(config->model.head_dim, 256);
  const Rows rows = ThetasAndWindows(json);
  EXPECT_EQ(rows[4], std::pair(1e4, 1024));
  EXPECT_EQ(rows[5], std::pair(1e6, 0));
  EXPECT_THAT(Error({{"model_type", "gemma3"}, {"text_config", {{"num_hidden_layers", 0}}}}),
              HasSubstr("text_config.num_hidden_layers"));
}

TEST(HuggingFaceConfig, MistralAndSmolLM) {
  EXPECT_EQ(ThetasAndWindows(With({{"model_type", "mistral"}})), Rows(4, {1e4, 4096}));
  EXPECT_EQ(ThetasAndWindows(With({{"model_type", "mistral"}, {"sliding_window", nullptr}})),
            Rows(4, {1e4, 0}));
  const Json smollm3 = With({{"model_type", "smollm3"}, {"rope_theta", 5e6}});
  EXPECT_EQ(ThetasAndWindows(smollm3), (Rows{{5e6, 0}, {5e6, 0}, {5e6, 0}, {0, 0}}));
  EXPECT_TRUE(ParseHuggingFaceConfig(smollm3)->model.tie_word_embeddings);
  Json listed = smollm3;
  listed["no_rope_layers"] = {0, 1, 1, 1};
  EXPECT_EQ(ThetasAndWindows(listed), (Rows{{0, 0}, {5e6, 0}, {5e6, 0}, {5e6, 0}}));
}

TEST(HuggingFaceConfig, LlamaThreeInBothSpellings) {
  const Json numbers = {{"factor", 32.0},
                        {"high_freq_factor", 4.0},
                        {"low_freq_factor", 1.0},
                        {"original_max_position_embeddings", 8192}};
  Json old = numbers, modern = numbers;
  old["rope_type"] = modern["rope_type"] = "llama3";
  modern["rope_theta"] = 5e5;
  EXPECT_EQ(Positions(With({{"rope_theta", 5e5}, {"rope_scaling", old}})),
            Positions(With({{"rope_parameters", modern}})));
}

TEST(ModelExtras, TheTrainerRefusesThemByName) {
  EXPECT_TRUE(CheckTrainable({}).ok());
  const Status status =
      CheckTrainable({.qkv_bias = true, .query_scale = 0.0625, .attention_softcap = 50});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "the model has what the trainer does not: biases of q_proj, k_proj and v_proj, logits "
            "times 0.0625, attention logits capped at 50; `gyre analyze` looks at such models");
}

TEST(HuggingFaceConfig, WhatWouldChangeTheNumbersIsNeverIgnored) {
  EXPECT_THAT(Error(Json::array()), HasSubstr("not a JSON object"));
  EXPECT_THAT(Error(With({{"hidden_size", 64.5}})),
              HasSubstr("hidden_size must be a whole number"));
  EXPECT_THAT(Error(With({{"num_attention_heads", 5}})), HasSubstr("head_dim is missing"));
  EXPECT_THAT(Error(With({{"hidden_act", "relu"}})), HasSubstr("hidden_act"));
  EXPECT_THAT(Error(With({{"model_type", "phi3"}})),
              HasSubstr("model_type is 'phi3'; known are gemma, gemma2, gemma3_text, llama, "));
  EXPECT_THAT(Error(With({{"mlp_bias", true}})), HasSubstr("biases"));
  EXPECT_THAT(Error(With({{"num_attention_heads", -4}})),
              HasSubstr("num_attention_heads is -4 and must be above 0"));
  EXPECT_THAT(
      Error(With({{"rope_scaling", {{"rope_type", "longrope"}, {"short_factor", {1.0, 2.0}}}}})),
      HasSubstr("rope_scaling.rope_type is 'longrope'; default, "));
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
