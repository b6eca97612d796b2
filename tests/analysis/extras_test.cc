// What pretrained models have beyond the trainer's, against plain loops in double precision; and
// weights that are none.

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "analysis/analyze.h"
#include "base/files.h"
#include "tests/analysis/made_folder.h"
#include "tests/analysis/plain_decoder.h"

namespace gyre {
namespace {

using testing::HasSubstr;

class Extras : public testing::Test {
 protected:
  ~Extras() override { std::filesystem::remove_all(folder_); }

  // Of what the families have in common.
  static Json Config(const std::string& family) {
    return {{"model_type", family},          {"vocab_size", 61},       {"hidden_size", 48},
            {"intermediate_size", 80},       {"num_hidden_layers", 3}, {"num_attention_heads", 4},
            {"num_key_value_heads", 2},      {"head_dim", 12},         {"rms_norm_eps", 1e-5},
            {"max_position_embeddings", 256}};
  }

  void ExpectAsPlain(const Json& config) {
    const PlainWeights weights = MakeFolder(folder_, config);
    const auto folder = PretrainedFolder::Open(folder_);
    ASSERT_TRUE(folder.ok()) << folder.status();
    TokenWindow window;
    for (int i = 0; i < 70; ++i) window.tokens.push_back((i * i * 7 + 3 * i) % 61);
    window.targets.assign(window.tokens.begin() + 1, window.tokens.end());
    window.targets.push_back(-1);
    AnalysisOptions options;
    options.statistics.collect = {kFrequencyNorms, kLogitShares, kHeadScores, kTokenNorms};
    options.threads = 2;
    const auto got = AnalyzeModel(*folder, {window}, options);
    ASSERT_TRUE(got.ok()) << got.status();
    const PlainPass want = RunPlainly(folder->config, got->positions, weights, window.tokens);
    for (size_t t = 0; t < want.nll.size(); ++t) {
      EXPECT_NEAR(got->losses.nll[t], want.nll[t], 1e-4) << t;
    }
    ExpectStatistics(got->record, want);
    ExpectMaps(got->record);
  }

  static void ExpectStatistics(const StatisticsRecord& got, const PlainPass& want) {
    ASSERT_EQ(got.head_scores.size(), 12u);
    const auto near = [](double value, double expected) {
      EXPECT_NEAR(value, expected, 2e-4 * std::abs(expected) + 1e-9);
    };
    for (const HeadScores& scores : got.head_scores) {
      SCOPED_TRACE(std::to_string(scores.layer) + ":" + std::to_string(scores.head));
      const PlainLayer& layer = want.layers[static_cast<size_t>(scores.layer)];
      const auto head = static_cast<size_t>(scores.head);
      near(scores.diagonal, layer.diagonal[head]);
      near(scores.previous, layer.previous[head]);
      near(scores.first, layer.first[head]);
      near(scores.entropy, layer.entropy[head]);
      near(scores.distance, layer.distance[head]);
    }
    for (const LogitShares& shares : got.logit_shares) {
      const auto& expected = want.layers[static_cast<size_t>(shares.layer)]
                                 .contributions[static_cast<size_t>(shares.head)];
      for (size_t k = 0; k < expected.size(); ++k) near(shares.contributions[k], expected[k]);
    }
    for (const FrequencyNorms& norms : got.frequency_norms) {
      if (norms.tensor != "q") continue;
      const auto& expected = want.layers[static_cast<size_t>(norms.layer)]
                                 .query_norms[static_cast<size_t>(norms.head)];
      for (size_t k = 0; k < expected.size(); ++k) near(norms.norms[k], expected[k]);
    }
  }

  // Rows that see all of their keys among the first tokens add up to one.
  static void ExpectMaps(const StatisticsRecord& got) {
    ASSERT_EQ(got.attention_maps.size(), 12u);
    for (const AttentionMap& map : got.attention_maps) {
      ASSERT_EQ(map.weights.size(), 20u);
      for (const auto& row : map.weights) {
        double sum = 0;
        for (const double weight : row) sum += weight;
        EXPECT_NEAR(sum, 1, 1e-4) << map.layer << ":" << map.head;
      }
    }
  }

  // The model of folder_ with other values in rows first .. end - 1 of a tensor.
  std::filesystem::path Spoiled(const std::string& name, size_t first, size_t end, float value) {
    const auto folder = PretrainedFolder::Open(folder_);
    EXPECT_TRUE(folder.ok()) << folder.status();
    const TensorEntry* entry = folder->weights.Find(name);
    EXPECT_NE(entry, nullptr) << name;
    std::string bytes = *ReadFile(folder_ / "model.safetensors");
    uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    const size_t row = entry->shape.size() == 2 ? static_cast<size_t>(entry->shape[1]) : 1;
    for (size_t i = first * row; i < end * row; ++i) {
      std::memcpy(bytes.data() + sizeof header + header + entry->offset + i * sizeof value, &value,
                  sizeof value);
    }
    const std::filesystem::path spoiled = folder_ / "spoiled";
    std::filesystem::create_directories(spoiled);
    std::filesystem::copy_file(folder_ / "config.json", spoiled / "config.json",
                               std::filesystem::copy_options::overwrite_existing);
    std::ofstream(spoiled / "model.safetensors", std::ios::binary) << bytes;
    return spoiled;
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      ("extras-" + std::to_string(getpid()) + "-" +
       testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(Extras, BiasesOfQwen2) { ExpectAsPlain(Config("qwen2")); }

TEST_F(Extras, NormsOfQwen3) { ExpectAsPlain(Config("qwen3")); }

TEST_F(Extras, CapsPostNormsAndScaleOfGemma2) {
  Json config = Config("gemma2");
  config.update({{"query_pre_attn_scalar", 30},
                 {"attn_logit_softcapping", 4.0},
                 {"final_logit_softcapping", 6.0},
                 {"sliding_window", 9}});
  ExpectAsPlain(config);
}

TEST_F(Extras, NormsAndLocalThetaOfGemma3) {
  Json config = Config("gemma3_text");
  config.update(
      {{"query_pre_attn_scalar", 30}, {"sliding_window", 17}, {"sliding_window_pattern", 3}});
  ExpectAsPlain(config);
}

TEST_F(Extras, AWeightThatIsNoNumberIsNamed) {
  MakeFolder(folder_, Config("llama"));
  const TokenWindow window{{1, 2, 3, 4}, {2, 3, 4, -1}};
  for (const char* name :
       {"model.layers.1.mlp.up_proj.weight", "model.layers.2.input_layernorm.weight",
        "model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"}) {
    const float wrong = name[6] == 'n' ? std::numeric_limits<float>::infinity()
                                       : std::numeric_limits<float>::quiet_NaN();
    const auto opened = PretrainedFolder::Open(Spoiled(name, 3, 4, wrong));
    ASSERT_TRUE(opened.ok()) << opened.status();
    const Status status = AnalyzeModel(*opened, {window}, {}).status();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << name;
    EXPECT_THAT(status.message(), HasSubstr(std::string("tensor ") + name));
    EXPECT_THAT(status.message(), HasSubstr("spoiled"));
  }
}

// A flipped bit of an exponent, say.
TEST_F(Extras, WeightsWhoseProductsAreNoNumbersAreSaid) {
  MakeFolder(folder_, Config("llama"));
  const TokenWindow window{{1, 2, 3, 4}, {2, 3, 4, -1}};
  for (const auto& [name, where] :
       {std::pair("model.layers.1.mlp.down_proj.weight", "that layer 1 computes"),
        std::pair("model.layers.2.self_attn.q_proj.weight", "that layer 2 computes"),
        std::pair("lm_head.weight", "that the head computes")}) {
    const auto opened = PretrainedFolder::Open(Spoiled(name, 0, 8, 3e38f));
    ASSERT_TRUE(opened.ok()) << opened.status();
    const Status status = AnalyzeModel(*opened, {window}, {}).status();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << name;
    EXPECT_THAT(status.message(), HasSubstr(where));
  }
}

TEST_F(Extras, AStopEndsThePass) {
  MakeFolder(folder_, Config("llama"));
  const auto folder = PretrainedFolder::Open(folder_);
  ASSERT_TRUE(folder.ok()) << folder.status();
  std::stop_source stop;
  AnalysisOptions options;
  options.stop = stop.get_token();
  options.progress = [&](const ForwardProgress& progress) {
    if (progress.layer == 1) stop.request_stop();
    EXPECT_LT(progress.layer, 2);
  };
  const TokenWindow window{{1, 2, 3, 4}, {2, 3, 4, -1}};
  EXPECT_EQ(AnalyzeModel(*folder, {window}, options).status().code(), StatusCode::kCancelled);
}

TEST_F(Extras, HeadsThatThereAreNoneOfAreSaid) {
  MakeFolder(folder_, Config("llama"));
  const auto folder = PretrainedFolder::Open(folder_);
  ASSERT_TRUE(folder.ok()) << folder.status();
  AnalysisOptions options;
  options.heads = {{1, 4}};
  EXPECT_THAT(AnalyzeModel(*folder, {{{1, 2}, {2, -1}}}, options).status().message(),
              HasSubstr("no head 1:4; the model has layers 0 to 2, each with heads 0 to 3"));
  // Only those asked for, and the keys that they read.
  options.heads = {{1, 3}};
  const auto analysis = AnalyzeModel(*folder, {{{1, 2}, {2, -1}}}, options);
  ASSERT_TRUE(analysis.ok()) << analysis.status();
  EXPECT_EQ(analysis->record.attention_maps.size(), 1u);
  ASSERT_EQ(analysis->record.token_norms.size(), 3u);
  EXPECT_EQ(analysis->record.token_norms[1].tensor, "k");
  EXPECT_EQ(analysis->record.token_norms[1].head, 1);
}

}  // namespace
}  // namespace gyre
