#include "trainer/position/rotation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/files.h"

namespace gyre {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModelConfig Heads(int heads, int head_dim, int layers = 1) {
  ModelConfig model;
  model.num_attention_heads = heads;
  model.head_dim = head_dim;
  model.num_hidden_layers = layers;
  return model;
}

LayerPosition ResolveOne(const EncodingConfig& encoding, int head_dim, int length = 8) {
  PositionConfig position;
  position.common = encoding;
  auto layers = ResolvePositions(position, Heads(6, head_dim), length);
  EXPECT_TRUE(layers.ok()) << layers.status();
  return layers.ok() ? layers->front() : LayerPosition();
}

Status ResolveError(const EncodingConfig& encoding, int head_dim) {
  PositionConfig position;
  position.common = encoding;
  return ResolvePositions(position, Heads(6, head_dim), 8).status();
}

std::vector<bool> Rotates(const LayerPosition& layer) {
  std::vector<bool> rotates;
  for (const double f : layer.rotation.frequencies) rotates.push_back(f != 0);
  return rotates;
}

TEST(Rotation, RopeIsTheLadderOfTheta) {
  const Rotation rotation = ResolveOne({.theta = 100}, 8).rotation;
  ASSERT_EQ(rotation.frequencies.size(), 4u);
  for (int k = 0; k < 4; ++k) {
    EXPECT_DOUBLE_EQ(rotation.frequencies[k], std::pow(100, -2.0 * k / 8));
  }
  EXPECT_THAT(rotation.pairs,
              ElementsAre(std::pair(0, 4), std::pair(1, 5), std::pair(2, 6), std::pair(3, 7)));
  EXPECT_EQ(rotation.attention_factor, 1);
}

TEST(Rotation, TruncationKeepsTheFrequenciesThatStay) {
  const auto full = ResolveOne({}, 20).rotation.frequencies;
  const auto high = ResolveOne({.p = 0.75}, 20).rotation.frequencies;
  const auto low = ResolveOne({.p = 0.75, .keep = "low"}, 20).rotation.frequencies;
  for (int k = 0; k < 10; ++k) {
    EXPECT_EQ(high[k], k < 7 ? full[k] : 0);
    EXPECT_EQ(low[k], k >= 3 ? full[k] : 0);
  }
}

// int(p * d // 2) in double precision: 0.29 * 100 is 28.999999999999996, 0.57 * 200 is just below
// 114.
TEST(Rotation, CountsKeptPairsInDoublePrecision) {
  const auto kept = [](double p, int head_dim) {
    int count = 0;
    for (const bool rotates : Rotates(ResolveOne({.p = p}, head_dim))) count += rotates;
    return count;
  };
  EXPECT_EQ(kept(0.29, 100), 14);
  EXPECT_EQ(kept(0.57, 200), 56);
  EXPECT_EQ(kept(0.75, 20), 7);
  EXPECT_EQ(kept(0, 20), 0);
  EXPECT_EQ(kept(1, 20), 10);
}

TEST(Rotation, BandIsTheGeneralForm) {
  EXPECT_EQ(ResolveOne({.band = std::pair(0, 7)}, 20), ResolveOne({.p = 0.75}, 20));
  EXPECT_EQ(ResolveOne({.band = std::pair(3, 10)}, 20), ResolveOne({.p = 0.75, .keep = "low"}, 20));
  EXPECT_THAT(Rotates(ResolveOne({.band = std::pair(1, 3)}, 8)),
              ElementsAre(false, true, true, false));
}

TEST(Rotation, RespacedRotatesASliceAndLeavesTheRestAlone) {
  EncodingConfig encoding{.p = 0.5, .spacing = "respaced"};
  encoding.scaling = {.type = "yarn", .factor = 4, .original_max_position_embeddings = 64};
  const Rotation rotation = ResolveOne(encoding, 8).rotation;
  EXPECT_THAT(rotation.pairs,
              ElementsAre(std::pair(0, 2), std::pair(1, 3), std::pair(4, 6), std::pair(5, 7)));
  EXPECT_THAT(rotation.scaled, ElementsAre(true, true, false, false));
  EXPECT_NEAR(rotation.attention_factor, 0.1 * std::log(4.0) + 1, 1e-15);
  EXPECT_EQ(rotation.frequencies[0], 1);
  EXPECT_EQ(rotation.frequencies[2], 0);
}

TEST(Rotation, InterleavedPairsAreNeighbours) {
  EXPECT_THAT(ResolveOne({.pairing = "interleaved"}, 6).rotation.pairs,
              ElementsAre(std::pair(0, 1), std::pair(2, 3), std::pair(4, 5)));
}

TEST(Rotation, NopeAndAlibiRotateNothing) {
  const LayerPosition nope = ResolveOne({.type = "nope"}, 8);
  EXPECT_THAT(nope.rotation.frequencies, ElementsAre(0, 0, 0, 0));
  EXPECT_TRUE(nope.alibi_slopes.empty());
  EXPECT_EQ(nope, ResolveOne({.p = 0}, 8));
  const LayerPosition alibi = ResolveOne({.type = "alibi"}, 8);
  EXPECT_EQ(alibi.rotation, nope.rotation);
  EXPECT_THAT(alibi.alibi_slopes, ElementsAre(0.25, 1.0 / 16, 1.0 / 64, 1.0 / 256, 0.5, 0.125));
}

TEST(Rotation, DynamicLooksAtTheLength) {
  EncodingConfig encoding;
  encoding.scaling = {.type = "dynamic", .factor = 2, .original_max_position_embeddings = 24};
  EXPECT_EQ(ResolveOne(encoding, 16, 24), ResolveOne({}, 16));
  EXPECT_LT(ResolveOne(encoding, 16, 64).rotation.frequencies[7],
            ResolveOne({}, 16).rotation.frequencies[7]);
  EXPECT_THAT(ResolveOne(encoding, 2, 64).rotation.frequencies, ElementsAre(1));
}

TEST(Rotation, LayersAndWindowsOverrideTheCommonOnes) {
  PositionConfig position;
  position.layers = {{}, {.type = "nope"}};
  ModelConfig model = Heads(2, 8, 2);
  model.sliding_window = 5;
  auto layers = ResolvePositions(position, model, 8);
  ASSERT_TRUE(layers.ok()) << layers.status();
  EXPECT_EQ((*layers)[0].rotation.frequencies[0], 1);
  EXPECT_EQ((*layers)[1].rotation.frequencies[0], 0);
  EXPECT_EQ((*layers)[1].window, 5);
  position.windows = {3, 0};
  layers = ResolvePositions(position, model, 8);
  ASSERT_TRUE(layers.ok()) << layers.status();
  EXPECT_EQ((*layers)[0].window, 3);
  EXPECT_EQ((*layers)[1].window, 0);
  position.windows = {3};
  EXPECT_THAT(ResolvePositions(position, model, 8).status().message(), HasSubstr("windows has 1"));
}

TEST(Rotation, BadEncodingsAreNamedByTheirKey) {
  const auto message = [](const EncodingConfig& encoding, int head_dim) {
    const Status status = ResolveError(encoding, head_dim);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return status.message();
  };
  EXPECT_EQ(message({.p = 0.3, .spacing = "respaced"}, 50),
            "position.p: p·head_dim = 15 is odd, and spacing 'respaced' needs an even number");
  EXPECT_THAT(message({.type = "xpos"}, 8), HasSubstr("position.type: 'xpos'"));
  EXPECT_THAT(message({.theta = 1}, 8), HasSubstr("position.theta"));
  EXPECT_THAT(message({.theta = INFINITY}, 8), HasSubstr("position.theta"));
  EXPECT_THAT(message({.p = NAN}, 8), HasSubstr("position.p"));
  EXPECT_THAT(message({.p = 1.5}, 8), HasSubstr("and is 1.5"));
  EXPECT_THAT(message({}, 7), HasSubstr("head_dim = 7 is odd"));
  EXPECT_THAT(message({.band = std::pair(2, 9)}, 8), HasSubstr("position.band"));
  EXPECT_THAT(message({.p = 0.5, .band = std::pair(0, 2)}, 8), HasSubstr("excludes"));
  EXPECT_THAT(message({.p = 0.5, .keep = "low", .spacing = "respaced"}, 8),
              HasSubstr("position.keep"));
  EXPECT_THAT(message({.scaling = {.type = "yarn", .factor = 2}}, 8),
              HasSubstr("position.scaling.original_max_position_embeddings"));
}

// The recorded frequencies, attention factors, pairs and slopes of every reference case.
TEST(Rotation, ReferenceCases) {
  int cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/trainer/reference")) {
    if (!entry.is_directory()) continue;
    SCOPED_TRACE(entry.path().filename());
    auto config_text = ReadFile(entry.path() / "config.json");
    auto expected_text = ReadFile(entry.path() / "expected.json");
    ASSERT_TRUE(config_text.ok() && expected_text.ok());
    const Json config = Json::parse(*config_text);
    const Json expected = Json::parse(*expected_text);
    ++cases;
    const int layers = config["num_hidden_layers"];
    PositionConfig position;
    const Json& block = config["gyre"]["position"];
    for (int l = 0; l < layers; ++l) {
      Json own = block;
      if (block.contains("layers")) own.update(block["layers"][l]);
      EncodingConfig encoding{.type = own["type"],
                              .theta = own["theta"],
                              .p = own["p"],
                              .keep = own["keep"],
                              .spacing = own["spacing"]};
      const Json& scaling = own["scaling"];
      encoding.scaling.type = scaling["type"];
      encoding.scaling.factor = scaling.value("factor", 1.0);
      encoding.scaling.original_max_position_embeddings =
          scaling.value("original_max_position_embeddings", 0);
      position.layers.push_back(encoding);
    }
    auto resolved =
        ResolvePositions(position, Heads(config["num_attention_heads"], config["head_dim"], layers),
                         static_cast<int>(expected["batch"]["input_ids"][0].size()));
    ASSERT_TRUE(resolved.ok()) << resolved.status();
    for (int l = 0; l < layers; ++l) {
      const LayerPosition& layer = (*resolved)[l];
      const std::vector<double> frequencies = expected["position"]["inv_freq"][l];
      ASSERT_EQ(layer.rotation.frequencies.size(), frequencies.size());
      for (size_t k = 0; k < frequencies.size(); ++k) {
        EXPECT_NEAR(layer.rotation.frequencies[k], frequencies[k], 1e-11 * frequencies[k]);
      }
      EXPECT_NEAR(layer.rotation.attention_factor, expected["position"]["attention_factor"][l],
                  1e-11);
      const std::vector<std::pair<int, int>> pairs = expected["position"]["pairs"];
      EXPECT_EQ(layer.rotation.pairs, pairs);
      const std::vector<double> slopes = expected["position"]["alibi_slopes"];
      ASSERT_EQ(layer.alibi_slopes.size(), slopes.size());
      for (size_t h = 0; h < slopes.size(); ++h) {
        EXPECT_NEAR(layer.alibi_slopes[h], slopes[h], 1e-11);
      }
    }
  }
  EXPECT_EQ(cases, 16);
}

}  // namespace
}  // namespace gyre
