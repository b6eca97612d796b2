#include "trainer/config/job_config.h"

#include <gtest/gtest.h>

namespace gyre {
namespace {

// Every field differs from its default, so that a forgotten one shows.
JobConfig Unusual() {
  JobConfig config;
  config.model = {.model_type = "gemma",
                  .vocab_size = 300,
                  .num_hidden_layers = 2,
                  .hidden_size = 48,
                  .intermediate_size = 80,
                  .mlp = "plain",
                  .num_attention_heads = 3,
                  .num_key_value_heads = 1,
                  .head_dim = 32,
                  .rms_norm_eps = 1e-5,
                  .initializer_range = 0.01,
                  .tie_word_embeddings = false,
                  .qk_norm = true,
                  .sliding_window = 12};
  EncodingConfig encoding{.type = "rope",
                          .theta = 500000,
                          .p = 0.75,
                          .keep = "low",
                          .spacing = "respaced",
                          .band = std::nullopt,
                          .scaling = {.type = "yarn",
                                      .factor = 4,
                                      .original_max_position_embeddings = 256,
                                      .low_freq_factor = 2,
                                      .high_freq_factor = 5,
                                      .beta_fast = 31,
                                      .beta_slow = 2,
                                      .attention_factor = 1.25},
                          .pairing = "interleaved"};
  config.position.common = encoding;
  encoding.type = "nope";
  config.position.layers = {config.position.common, encoding};
  config.position.windows = {0, 64};
  config.data = {.train = Json{"a.txt", "b.txt"},
                 .validation = Json{{"held", "c.txt"}},
                 .tokenizer = "bytes",
                 .context = 128,
                 .packing = "stream",
                 .holdout = 0.1};
  config.train = {.tokens = 1600000,
                  .batch_tokens = 2048,
                  .micro_batch = 8,
                  .optimizer = {.name = "adamw",
                                .lr = 3e-3,
                                .beta1 = 0.8,
                                .beta2 = 0.99,
                                .eps = 1e-9,
                                .weight_decay = 0.2,
                                .clip_norm = 0},
                  .schedule = {.name = "constant", .warmup_tokens = 4096, .final_lr_fraction = 0.2},
                  .precision = "bf16",
                  .recompute = "layers",
                  .checkpoint_every = 160000,
                  .init_from = "checkpoint:3@100"};
  config.evaluate = {.every = 80000,
                     .tokens = 65536,
                     .contexts = {128, 256},
                     .positions = {0, 64},
                     .document_lengths = {0, 1000}};
  config.statistics = {
      .every = 400000, .sequences = 8, .collect = {kFrequencyNorms, kHeadScores, kTokenNorms}};
  PositionSwitch change{.at = 800000, .to = {}};
  change.to.common.type = "alibi";
  change.to.windows = {32, 0};
  config.position.switches = {change};
  return config;
}

std::string ErrorOf(const Json& json) {
  const auto config = JobConfigFromJson(json);
  return config.ok() ? "no error" : config.status().message();
}

TEST(JobConfigTest, EveryFieldComesBack) {
  const Json json = ToJson(Unusual());
  const auto config = JobConfigFromJson(Json::parse(json.dump()));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(ToJson(*config).dump(2), json.dump(2));
  EXPECT_EQ(config->position.layers[1].type, "nope");
  EXPECT_EQ(config->position.windows, (std::vector<int>{0, 64}));
  EXPECT_EQ(config->position.common.scaling.attention_factor, 1.25);
}

TEST(JobConfigTest, NoLeafOfTheDefaultsSurvivesInTheUnusualConfiguration) {
  const Json usual = ToJson(JobConfig{}).flatten();
  const Json unusual = ToJson(Unusual()).flatten();
  for (const auto& [key, value] : usual.items()) {
    const bool same_on_purpose = key == "/train/optimizer/name" || key == "/data/tokenizer" ||
                                 key == "/position/type" || key == "/position/band";
    if (!same_on_purpose && unusual.contains(key)) {
      EXPECT_NE(unusual[key], value) << key;
    }
  }
}

TEST(JobConfigTest, DefaultsComeBack) {
  const Json json = ToJson(JobConfig{});
  EXPECT_EQ(json["position"]["scaling"], Json());
  EXPECT_EQ(json["position"]["layers"], Json());
  EXPECT_EQ(json["model"]["sliding_window"], Json());
  EXPECT_EQ(json["position"]["p"], 1.0);
  const auto config = JobConfigFromJson(json);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(ToJson(*config).dump(), json.dump());
}

// Keys of jobs in older databases are hashes of this JSON, and their configurations lack the keys.
TEST(JobConfigTest, WhatCameLaterIsOnlyThereWhereItIsSaid) {
  const Json json = ToJson(JobConfig{});
  EXPECT_FALSE(json["model"].contains("mlp"));
  EXPECT_FALSE(json["position"].contains("switch"));
  EXPECT_FALSE(json["train"].contains("init_from"));
  for (const char* key : {"contexts", "positions", "document_lengths"}) {
    EXPECT_FALSE(json["evaluate"].contains(key)) << key;
  }
  Json bad = ToJson(Unusual());
  bad["evaluate"]["contexts"] = {512, "x"};
  EXPECT_EQ(ErrorOf(bad), "evaluate.contexts must be a list of whole numbers");
  bad = ToJson(Unusual());
  bad["position"]["switch"][0].erase("at");
  EXPECT_EQ(ErrorOf(bad), "position.switch[0].at is missing");
  bad = ToJson(Unusual());
  bad["train"]["init_from"] = 3;
  EXPECT_EQ(ErrorOf(bad), "train.init_from must be a string");
}

TEST(JobConfigTest, AJobFromBeforeThereWereStatisticsCollectsNone) {
  Json json = ToJson(Unusual());
  json.erase("statistics");
  const auto config = JobConfigFromJson(json);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->statistics.collect.empty());
  EXPECT_FALSE(config->statistics.Collects(kHeadScores));
}

TEST(JobConfigTest, StatisticsNameWhatThereIs) {
  const auto error_with = [](const char* key, const Json& value) {
    Json json = ToJson(Unusual());
    json["statistics"][key] = value;
    return ErrorOf(json);
  };
  const std::string list =
      "statistics.collect must be a list of frequency_norms, logit_shares, "
      "head_scores and token_norms, in this order";
  EXPECT_EQ(error_with("collect", {kHeadScores, "heads"}), list);
  EXPECT_EQ(error_with("collect", {kHeadScores, kFrequencyNorms}), list);
  EXPECT_EQ(error_with("collect", {kHeadScores, kHeadScores}), list);
  EXPECT_EQ(error_with("collect", {kHeadScores, 1}), list);
  EXPECT_EQ(error_with("collect", Json::array()), "no error");
  EXPECT_EQ(error_with("every", 0), "statistics.every must be at least 1");
  EXPECT_EQ(error_with("sequences", 0), "statistics.sequences must be at least 1");
}

TEST(JobConfigTest, WindowsAloneStayAlone) {
  JobConfig config;
  config.position.windows = {16, 0, 16, 0};
  const auto back = JobConfigFromJson(ToJson(config));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(back->position.layers.empty());
  EXPECT_EQ(back->position.windows, config.position.windows);
}

TEST(JobConfigTest, ABandReplacesPAndKeep) {
  JobConfig config;
  config.position.common.band = {2, 7};
  Json json = ToJson(config);
  EXPECT_EQ(json["position"]["p"], Json());
  const auto back = JobConfigFromJson(json);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->position.common.band, std::make_pair(2, 7));
  json["position"]["p"] = 0.5;
  EXPECT_EQ(ErrorOf(json), "position.band excludes p and keep");
}

TEST(JobConfigTest, EveryMissingKeyIsNamed) {
  const Json whole = ToJson(JobConfig{});
  for (const auto& [block, fields] : whole.items()) {
    for (const auto& [key, value] : fields.items()) {
      Json json = whole;
      json[block].erase(key);
      EXPECT_EQ(ErrorOf(json), block + "." + key + " is missing");
    }
  }
}

TEST(JobConfigTest, EveryWrongTypeIsNamed) {
  const Json whole = ToJson(Unusual());
  for (const auto& [block, fields] : whole.items()) {
    for (const auto& [key, value] : fields.items()) {
      if (block == "data" && (key == "train" || key == "validation" || key == "tokenizer"))
        continue;
      Json json = whole;
      json[block][key] = Json::object({{"no", "such"}});
      EXPECT_NE(ErrorOf(json).find(block + "." + key), std::string::npos) << ErrorOf(json);
    }
  }
}

TEST(JobConfigTest, UnknownKeysAndWrongContainersAreNamed) {
  Json json = ToJson(Unusual());
  json["train"]["optimizer"]["momentum"] = 1;
  EXPECT_EQ(ErrorOf(json), "unknown key train.optimizer.momentum");
  EXPECT_EQ(ErrorOf(Json(3)), "the job must be an object");
  EXPECT_EQ(ErrorOf(Json{{"model", 1}}), "model must be an object");
}

TEST(JobConfigTest, WholeNumbersAreKeptInRange) {
  Json json = ToJson(Unusual());
  json["model"]["num_hidden_layers"] = 5000000000;
  EXPECT_EQ(ErrorOf(json), "model.num_hidden_layers must be a whole number");
  json["model"]["num_hidden_layers"] = 4.5;
  EXPECT_EQ(ErrorOf(json), "model.num_hidden_layers must be a whole number");
}

TEST(JobConfigTest, LayersMustBeInOrder) {
  Json json = ToJson(Unusual());
  json["position"]["layers"][1]["layers"] = Json::array({0});
  EXPECT_EQ(ErrorOf(json), "position.layers[1].layers must be [1]: one object a layer, in order");
}

TEST(TrainerJobTest, ComesBack) {
  TrainerJob job{.config = Unusual(),
                 .seed = 18446744073709551615u,
                 .key = "abc",
                 .train_datasets = {{.hash = "def"}},
                 .validation_datasets = {{"austen", "123"}, {"gcide", "456"}}};
  const auto back = TrainerJobFromJson(Json::parse(ToJson(job).dump()));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(ToJson(*back).dump(), ToJson(job).dump());
  EXPECT_EQ(back->seed, job.seed);
  EXPECT_EQ(back->validation_datasets, job.validation_datasets);
  EXPECT_EQ(DatasetsOf(*back), (std::vector<std::string>{"123", "456", "def"}));
}

TEST(TrainerJobTest, SeveralTextsComeBackFromEachOfTheirForms) {
  TrainerJob job{.config = Unusual(),
                 .train_datasets = {{"def", 0.75}, {"abc", 0.25}},
                 .validation_datasets = {{"austen", "abc"}}};
  const auto back = TrainerJobFromJson(Json::parse(ToJson(job).dump()));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->train_datasets, job.train_datasets);
  EXPECT_EQ(DatasetsOf(*back), (std::vector<std::string>{"abc", "def"}));
  EXPECT_EQ(TextOf(job.train_datasets),
            R"([{"hash":"def","weight":0.75},{"hash":"abc","weight":0.25}])");
  EXPECT_EQ(TrainTextsJson(TextOf(job.train_datasets)), ToJson(job.train_datasets));
  EXPECT_EQ(TextOf({TrainText{"def"}}), "def");
  EXPECT_EQ(TrainTextsJson("def"), Json("def"));
  EXPECT_TRUE(TrainTextsJson("[damaged").is_null());
  for (const char* bad : {"3", "null", "{}", R"([{"hash":"a"}])", R"([{"hash":"a","weight":0}])",
                          R"([{"hash":1,"weight":1}])"}) {
    EXPECT_FALSE(TrainTextsFromJson(Json::parse(bad)).ok()) << bad;
  }
}

TEST(TrainerJobTest, BadJsonIsNamed) {
  Json json = ToJson(TrainerJob{});
  json["datasets"]["validation"]["x"] = 3;
  EXPECT_EQ(TrainerJobFromJson(json).status().message(), "datasets.validation.x must be a string");
  json = ToJson(TrainerJob{});
  json["seed"] = -1;
  EXPECT_EQ(TrainerJobFromJson(json).status().message(), "seed must be a whole number");
  json = ToJson(TrainerJob{});
  json["config"]["model"].erase("head_dim");
  EXPECT_EQ(TrainerJobFromJson(json).status().message(), "config.model.head_dim is missing");
}

TEST(TotalStepsTest, RoundsUp) {
  TrainConfig train;
  train.batch_tokens = 2048;
  for (const auto& [tokens, steps] : {std::pair{4096, 2}, {4097, 3}, {1, 1}}) {
    train.tokens = tokens;
    EXPECT_EQ(TotalSteps(train), steps) << tokens;
  }
}

TEST(ParameterCountTest, OfKnownModels) {
  // Gemma 2B: 524,550,144 embedding and 1,981,884,416 other parameters (Gemma report, table 2).
  const ModelConfig gemma{.model_type = "gemma",
                          .vocab_size = 256128,
                          .num_hidden_layers = 18,
                          .hidden_size = 2048,
                          .intermediate_size = 16384,
                          .num_attention_heads = 8,
                          .num_key_value_heads = 1,
                          .head_dim = 256};
  EXPECT_EQ(ParameterCount(gemma), 524550144 + int64_t{1981884416});
  // Llama 3.1 8B, untied.
  const ModelConfig llama{.vocab_size = 128256,
                          .num_hidden_layers = 32,
                          .hidden_size = 4096,
                          .intermediate_size = 14336,
                          .num_attention_heads = 32,
                          .num_key_value_heads = 8,
                          .head_dim = 128,
                          .tie_word_embeddings = false};
  EXPECT_EQ(ParameterCount(llama), 8030261248);
  ModelConfig normed = gemma;
  normed.qk_norm = true;
  EXPECT_EQ(ParameterCount(normed) - ParameterCount(gemma), 18 * 2 * 256);
  ModelConfig plain = llama;
  plain.mlp = "plain";
  EXPECT_EQ(ParameterCount(llama) - ParameterCount(plain), int64_t{32} * 4096 * 14336);
}

}  // namespace
}  // namespace gyre
