#include "trainer/collect_statistics.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/made_job.h"
#include "trainer/backend/create_backend.h"

namespace gyre {
namespace {

using testing::ElementsAre;

constexpr int kStepTokens = 64;

std::string Text(const StatisticsRecord& record) { return ToJson(record).dump(); }

// Number by number.
void ExpectNear(const StatisticsRecord& a, const StatisticsRecord& b, double tolerance) {
  const nlohmann::ordered_json one = ToJson(a).flatten(), other = ToJson(b).flatten();
  ASSERT_EQ(one.size(), other.size());
  for (const auto& [key, value] : one.items()) {
    if (!value.is_number_float()) {
      EXPECT_EQ(value, other[key]) << key;
      continue;
    }
    const double x = value.get<double>(), y = other[key].get<double>();
    EXPECT_NEAR(x, y, tolerance * std::max(std::abs(x), 0.01)) << key;
  }
}

class CollectStatisticsTest : public TemporaryHomeTest {
 protected:
  CollectStatisticsTest() {
    job_ = MakeJob(home_);
    job_.config.position.common.theta = 20;
    job_.config.statistics = {.every = 7 * kStepTokens,
                              .sequences = 4,
                              .collect = {kFrequencyNorms, kLogitShares, kHeadScores, kTokenNorms}};
  }

  RecordingObserver Run(const TrainerJob& job, const std::string& resume_from = "") {
    RecordingObserver observer;
    TrainControl control;
    const auto outcome = Train(job, {home_, resume_from, 1}, observer, control);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return observer;
  }

  // Of new weights.
  StatisticsRecord Collect(const JobConfig& config, int rows, bool spoiled = false) {
    const Dataset dataset = *Dataset::Open(home_, job_.validation_datasets.at("held"));
    const Windows windows = *Windows::Create(&dataset, config.data.context);
    const auto backend = *CreateBackend("cpu", 1);
    const auto model = *Model::Create(
        config.model, *ResolvePositions(config.position, config.model, config.data.context),
        backend.get(), rows, config.data.context, /*training=*/true);
    EXPECT_TRUE(model->InitializeWeights(1, 1).ok());
    if (spoiled) {
      std::vector<float> norm(static_cast<size_t>(config.model.hidden_size), 1);
      norm[0] = std::numeric_limits<float>::quiet_NaN();
      const std::string name = "model.layers.0.input_layernorm.weight";
      EXPECT_TRUE(model->Load(TensorKind::kWeight, name, norm).ok());
    }
    auto record = CollectStatistics(config, 0, windows, rows, Ranks(), model.get());
    EXPECT_TRUE(record.ok()) << record.status();
    return *std::move(record);
  }

  TrainerJob job_;
};

TEST_F(CollectStatisticsTest, TheyComeAtZeroAtEachMultipleReachedAndAtTheLastStep) {
  const RecordingObserver run = Run(job_);
  std::vector<int64_t> steps;
  for (const StatisticsRecord& record : run.statistics) {
    steps.push_back(record.step);
    EXPECT_EQ(record.tokens, record.step * kStepTokens);
  }
  EXPECT_THAT(steps, ElementsAre(0, 7, 14, 20, 20));
  for (size_t i = 0; i < 4; ++i) {
    const StatisticsRecord& record = run.statistics[i];
    EXPECT_EQ(record.frequency_norms.size(), 6u);  // two heads of q, k and v
    EXPECT_EQ(record.frequency_norms[0].norms.size(), 2u);
    EXPECT_EQ(record.logit_shares.size(), 2u);
    EXPECT_EQ(record.head_scores.size(), 2u);
    EXPECT_EQ(record.token_norms.size(), 6u);
    EXPECT_EQ(record.attention_maps.size(), 2u);
    EXPECT_TRUE(record.document_losses.empty());
  }
  EXPECT_NE(Text(run.statistics[0]), Text(run.statistics[1]));
  EXPECT_EQ(run.statistics[4].document_losses.size(), 1u);
  EXPECT_TRUE(run.statistics[4].head_scores.empty());
}

TEST_F(CollectStatisticsTest, OnlyWhatIsAskedForIsThere) {
  job_.config.statistics.collect = {kHeadScores};
  const StatisticsRecord scores = Run(job_).statistics[0];
  EXPECT_EQ(scores.head_scores.size(), 2u);
  EXPECT_TRUE(scores.frequency_norms.empty() && scores.logit_shares.empty());
  EXPECT_TRUE(scores.token_norms.empty() && scores.attention_maps.empty());
  job_.config.statistics.collect = {kTokenNorms};
  const StatisticsRecord tokens = Run(job_).statistics[0];
  EXPECT_EQ(tokens.token_norms.size(), 6u);
  EXPECT_TRUE(tokens.frequency_norms.empty() && tokens.head_scores.empty());
}

TEST_F(CollectStatisticsTest, TrainingIsNotTouched) {
  const RecordingObserver with = Run(job_);
  job_.config.statistics.collect.clear();
  const RecordingObserver without = Run(job_);
  ASSERT_EQ(without.statistics.size(), 1u);  // the documents' losses
  ASSERT_EQ(with.points.size(), without.points.size());
  for (size_t i = 0; i < with.points.size(); ++i) {
    EXPECT_EQ(with.points[i].metric, without.points[i].metric);
    EXPECT_EQ(with.points[i].value, without.points[i].value);
  }
  EXPECT_EQ(with.checkpoints.back().hash, without.checkpoints.back().hash);
}

TEST_F(CollectStatisticsTest, AResumedAttemptSaysWhatComesAfterItsCheckpoint) {
  job_.config.train.checkpoint_every = 3 * kStepTokens;
  const RecordingObserver whole = Run(job_);
  ASSERT_EQ(whole.checkpoints.size(), 7u);
  for (const CheckpointInfo& checkpoint : whole.checkpoints) {
    if (checkpoint.weights_only) continue;
    std::vector<std::string> expected, got;
    for (const StatisticsRecord& record : whole.statistics) {
      if (record.step > checkpoint.step) expected.push_back(Text(record));
    }
    for (const StatisticsRecord& record : Run(job_, checkpoint.hash).statistics) {
      got.push_back(Text(record));
    }
    EXPECT_EQ(got, expected) << checkpoint.step;
  }
}

TEST_F(CollectStatisticsTest, LayersThatAreComputedAgainSayTheSame) {
  job_.config.model.num_hidden_layers = 3;
  const RecordingObserver kept = Run(job_);
  job_.config.train.recompute = "layers";
  const RecordingObserver again = Run(job_);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(Text(kept.statistics[i]), Text(again.statistics[i]));
}

// The same windows one by one, where nothing is filled up.
TEST_F(CollectStatisticsTest, ShorterWindowsAreNotPaddedIntoTheMeans) {
  job_.validation_datasets["held"] = MakeDataset(home_, {"abcdefgabcdefgab", "cadfe", "b", "gfe"});
  job_.config.statistics.sequences = 10;
  ExpectNear(Collect(job_.config, 4), Collect(job_.config, 1), 1e-5);
}

// The norms are those before the rotation: a switch leaves the first layer's as they are.
TEST_F(CollectStatisticsTest, TheEncodingIsTheOneInForce) {
  const RecordingObserver plain = Run(job_);
  PositionSwitch& change = job_.config.position.switches.emplace_back();
  change.at = 20 * kStepTokens;  // after the last update: the weights are the same
  change.to.common.type = "nope";
  const RecordingObserver switched = Run(job_);
  EXPECT_EQ(Text(plain.statistics[2]), Text(switched.statistics[2]));
  const StatisticsRecord &before = plain.statistics[3], &after = switched.statistics[3];
  for (size_t i = 0; i < before.frequency_norms.size(); ++i) {
    for (size_t k = 0; k < 2; ++k) {
      EXPECT_NEAR(before.frequency_norms[i].norms[k], after.frequency_norms[i].norms[k], 1e-5);
      EXPECT_NEAR(before.token_norms[i].norms[5][k], after.token_norms[i].norms[5][k], 1e-5);
    }
  }
  EXPECT_NE(before.logit_shares[0].contributions, after.logit_shares[0].contributions);
  EXPECT_NE(before.attention_maps[0].weights, after.attention_maps[0].weights);
}

// The mean over the first tokens one by one is that over all tokens where there are no others: two
// ways to the same numbers.
TEST_F(CollectStatisticsTest, SingleTokensAndMeansAgreeUnderEveryEncoding) {
  job_.validation_datasets["held"] = MakeDataset(home_, {"hgfedcbahgfedcba"});
  JobConfig config = job_.config;
  config.model.num_hidden_layers = 2;
  config.model.hidden_size = 16;
  config.model.num_attention_heads = 4;
  config.model.num_key_value_heads = 2;
  config.model.head_dim = 8;
  std::vector<JobConfig> configs(6, config);
  configs[0].position.common.type = "alibi";
  configs[1].model.sliding_window = 5;
  configs[1].position.windows = {5, 0};
  configs[2].position.common.scaling = {
      .type = "yarn", .factor = 4, .original_max_position_embeddings = 8};
  configs[3].position.common.spacing = "respaced";
  configs[3].position.common.p = 0.5;
  configs[3].position.common.scaling = configs[2].position.common.scaling;
  configs[4].position.common.pairing = "interleaved";
  configs[4].model.qk_norm = true;
  configs[5].position.common.p = 0.5;
  for (const JobConfig& each : configs) {
    SCOPED_TRACE(ToJson(each)["position"].dump());
    const StatisticsRecord record = Collect(each, 1);
    ASSERT_EQ(record.token_norms.size(), record.frequency_norms.size());
    for (size_t i = 0; i < record.token_norms.size(); ++i) {
      const auto& tokens = record.token_norms[i].norms;
      ASSERT_EQ(tokens.size(), 16u);
      for (size_t k = 0; k < 4; ++k) {
        double sum = 0;
        for (const auto& token : tokens) sum += token[k];
        EXPECT_NEAR(sum / 16, record.frequency_norms[i].norms[k], 1e-5) << i << " " << k;
        EXPECT_NEAR((sum - tokens[0][k]) / 15, record.frequency_norms[i].norms_without_first[k],
                    1e-5);
      }
    }
    for (size_t h = 0; h < record.attention_maps.size(); ++h) {
      const auto& weights = record.attention_maps[h].weights;
      double diagonal = 0, previous = 0, first = 0, distance = 0;
      for (size_t i = 0; i < 16; ++i) {
        double sum = 0;
        for (size_t j = 0; j < 16; ++j) {
          sum += weights[i][j];
          distance += weights[i][j] * static_cast<double>(i - j) * (j <= i ? 1 : 0);
        }
        EXPECT_NEAR(sum, 1, 1e-5);
        diagonal += weights[i][i];
        previous += i > 0 ? weights[i][i - 1] : 0;
        first += weights[i][0];
      }
      EXPECT_NEAR(diagonal / 16, record.head_scores[h].diagonal, 1e-5);
      EXPECT_NEAR(previous / 15, record.head_scores[h].previous, 1e-5);
      EXPECT_NEAR(first / 16, record.head_scores[h].first, 1e-5);
      EXPECT_NEAR(distance / 16, record.head_scores[h].distance, 1e-4);
    }
  }
}

TEST_F(CollectStatisticsTest, NumbersThatAreNotFiniteAreNull) {
  const auto json = ToJson(Collect(job_.config, 2, /*spoiled=*/true));
  EXPECT_EQ(json["head_scores"][0]["diagonal"], nullptr);
  EXPECT_EQ(json["frequency_norms"][0]["norms"][0], nullptr);
  EXPECT_EQ(json["logit_shares"][1]["others"][1], nullptr);
  EXPECT_EQ(json["token_norms"][0]["norms"][3][1], nullptr);
  const auto back = StatisticsRecordFromJson(json);
  ASSERT_TRUE(back.ok()) << back.status();
}

TEST_F(CollectStatisticsTest, ADivergedJobEndsWithoutMore) {
  job_.config.train.optimizer.lr = 1e30;
  job_.config.train.schedule.warmup_tokens = 0;
  RecordingObserver observer;
  TrainControl control;
  const auto outcome = Train(job_, {home_, "", 1}, observer, control);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ASSERT_TRUE(outcome->diverged_at_step);
  for (const StatisticsRecord& record : observer.statistics) {
    EXPECT_LT(record.step, *outcome->diverged_at_step);
    EXPECT_TRUE(record.document_losses.empty());
  }
}

}  // namespace
}  // namespace gyre
