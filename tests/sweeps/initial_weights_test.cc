// train.init_from: the model and the encoding come from the weights, where the sweep does not say
// otherwise.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sweeps/sweep_text.h"

namespace gyre {
namespace {

using testing::HasSubstr;

InitialWeights Pretrained() {
  InitialWeights weights;
  weights.hash = "abc";
  weights.model.model_type = "gemma";
  weights.model.num_hidden_layers = 3;
  weights.model.hidden_size = 48;
  weights.model.intermediate_size = 80;
  weights.model.num_attention_heads = 2;
  weights.model.num_key_value_heads = 1;
  weights.model.head_dim = 32;
  weights.model.vocab_size = 300;
  weights.model.qk_norm = true;
  weights.model.sliding_window = 64;
  weights.position.common.theta = 500000;
  weights.position.common.scaling = {"linear", 4};
  return weights;
}

ParsedSweeps ParseWith(const std::string& base, Result<std::optional<InitialWeights>> weights) {
  SpecOptions options = TestOptions();
  options.initial_weights = [weights](const std::string&) { return weights; };
  return ParseSweeps("sweep: t\nbase:\n  data: {train: corpus:austen}\n" + base, options);
}

JobConfig ConfigWith(const std::string& base, const InitialWeights& weights) {
  const ParsedSweeps parsed = ParseWith(base, std::optional<InitialWeights>(weights));
  EXPECT_EQ(Diagnostics(parsed), "");
  return parsed.sweeps.empty() ? JobConfig() : parsed.sweeps[0].variants[0].config;
}

TEST(InitialWeightsTest, TheModelAndItsEncodingAreTaken) {
  const JobConfig config = ConfigWith("  train: {init_from: /models/x}\n", Pretrained());
  JobConfig wanted = config;
  wanted.model = Pretrained().model;
  wanted.position = Pretrained().position;
  EXPECT_EQ(ToJson(config), ToJson(wanted));
  EXPECT_EQ(config.train.init_from, "/models/x");
  EXPECT_EQ(ConfigWith("  train: {init_from: x/}\n", Pretrained()).train.init_from, "/sweeps/x/");
}

TEST(InitialWeightsTest, WhatTheSweepSaysIsMergedOverIt) {
  const JobConfig config = ConfigWith(
      "  train: {init_from: x}\n  model: {sliding_window: 32, num_hidden_layers: 3}\n"
      "  position: {p: 0.75, layers: [{layers: 1, type: nope}]}\n",
      Pretrained());
  EXPECT_EQ(config.position.common.theta, 500000);
  EXPECT_EQ(config.position.common.p, 0.75);
  EXPECT_EQ(config.position.common.scaling.factor, 4);
  EXPECT_EQ(config.position.layers[1].type, "nope");
  EXPECT_EQ(config.position.layers[2].p, 0.75);
  EXPECT_EQ(config.model.sliding_window, 32);
  const JobConfig plain = ConfigWith(
      "  train: {init_from: x}\n  position: {theta: 1e4, scaling: null}\n", Pretrained());
  EXPECT_EQ(plain.position.common.theta, 1e4);
}

TEST(InitialWeightsTest, LayersOfTheirOwnStay) {
  InitialWeights weights = Pretrained();
  weights.position.layers.assign(3, weights.position.common);
  weights.position.layers[2].type = "nope";
  weights.position.windows = {0, 64, 0};
  const JobConfig config = ConfigWith("  train: {init_from: x}\n  position: {p: 0.5}\n", weights);
  ASSERT_EQ(config.position.layers.size(), 3u);
  EXPECT_EQ(config.position.layers[2].type, "nope");
  EXPECT_EQ(config.position.layers[0].p, 0.5);
  EXPECT_EQ(config.position.windows, weights.position.windows);
  // What the sweep says of windows is of all layers.
  for (const auto& [model, window] :
       {std::pair("sliding_window: 32", 32), std::pair("use_sliding_window: false", 0)}) {
    const JobConfig said =
        ConfigWith("  train: {init_from: x}\n  model: {" + std::string(model) + "}\n", weights);
    EXPECT_TRUE(said.position.windows.empty()) << model;
    EXPECT_EQ(said.model.sliding_window, window) << model;
  }
}

TEST(InitialWeightsTest, ASwitchGoesOverThemToo) {
  const JobConfig config = ConfigWith(
      "  train: {init_from: x}\n  position: {switch: {at: 1M, to: {p: 0.75}}}\n", Pretrained());
  ASSERT_EQ(config.position.switches.size(), 1u);
  EXPECT_EQ(config.position.switches[0].to.common.theta, 500000);
  EXPECT_EQ(config.position.switches[0].to.common.p, 0.75);
  EXPECT_EQ(config.position.common.p, 1);
}

TEST(InitialWeightsTest, AnotherModelIsRefusedWithEveryDifference) {
  const std::string said = Diagnostics(ParseWith(
      "  train: {init_from: x}\n  model: {hidden_size: 64, qk_norm: false, rms_norm_eps: 1e-5}\n",
      std::optional<InitialWeights>(Pretrained())));
  EXPECT_THAT(said, HasSubstr("sweep.yaml:4:22: error: train.init_from: the weights of /sweeps/x "
                              "are of another model: hidden_size 64 (there 48), rms_norm_eps 1e-05 "
                              "(there 1e-06), qk_norm false (there true)"));
  EXPECT_THAT(said, HasSubstr("help: leave these keys of model out"));
}

TEST(InitialWeightsTest, WhatCannotBeFoundIsAFaultAtItsPlace) {
  const std::string said = Diagnostics(ParseWith(
      "  train: {init_from: checkpoint:7}\n", FailedPrecondition("job 7 has no checkpoint yet")));
  EXPECT_THAT(said, HasSubstr("sweep.yaml:4:22: error: train.init_from: job 7 has no checkpoint"));
}

TEST(InitialWeightsTest, WhatIsNotKnownYetIsNoted) {
  const ParsedSweeps parsed =
      ParseWith("  train: {init_from: checkpoint:7}\n", std::optional<InitialWeights>());
  EXPECT_EQ(Diagnostics(parsed), "");
  EXPECT_EQ(parsed.sweeps[0].jobs[0].key, "");
  EXPECT_THAT(parsed.sweeps[0].notes, testing::Contains(HasSubstr("checkpoint:7 is looked up")));
}

}  // namespace
}  // namespace gyre
