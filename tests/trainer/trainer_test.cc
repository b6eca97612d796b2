#include "trainer/trainer.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <set>

#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/made_job.h"
#include "trainer/backend/create_backend.h"

namespace gyre {
namespace {

using testing::HasSubstr;

struct Ran {
  Result<TrainOutcome> outcome = Internal("not run");
  RecordingObserver observer;
};

class TrainerTest : public TemporaryHomeTest {
 protected:
  Ran Run(const TrainerJob& job, const std::string& resume_from = "",
          const std::string& backend = kDefaultBackend) {
    Ran ran;
    TrainControl control;
    ran.outcome = Train(job, {home_, resume_from, 1, backend}, ran.observer, control);
    return ran;
  }
  Status Error(const TrainerJob& job, const std::string& resume_from = "") {
    return Run(job, resume_from).outcome.status();
  }
};

// "metric step value" with every bit of the value.
std::vector<std::string> Lines(const std::vector<PointValue>& points, int64_t after_step = -1) {
  std::vector<std::string> lines;
  for (const PointValue& point : points) {
    if (point.step <= after_step) continue;
    char value[64];
    std::snprintf(value, sizeof value, "%a", point.value);
    lines.push_back(point.metric + " " + std::to_string(point.step) + " " +
                    std::to_string(point.tokens) + " " + value);
  }
  return lines;
}

TEST_F(TrainerTest, ItLearnsWhatTheTextDoes) {
  TrainerJob job = MakeJob(home_);
  job.config.train.tokens = 120 * 64;
  const Ran ran = Run(job);
  ASSERT_TRUE(ran.outcome.ok()) << ran.outcome.status();
  EXPECT_EQ(ran.outcome->step, 120);
  EXPECT_EQ(ran.outcome->tokens, 120 * 64);
  EXPECT_FALSE(ran.outcome->stopped);
  EXPECT_FALSE(ran.outcome->diverged_at_step.has_value());
  EXPECT_GT(ran.outcome->tokens_per_second, 0);
  EXPECT_GT(ran.outcome->peak_memory_bytes, 0);
  const auto sample = ran.observer.Curve("held/loss_sample");
  EXPECT_NEAR(sample.front().second, std::log(257), 0.5) << "an untrained model guesses";
  // Eight letters alike often: whoever looks at no context pays ln 8 a letter.
  const double loss = ran.observer.Curve("held/loss").front().second;
  EXPECT_LT(loss, 0.6 * std::log(8));
  EXPECT_DOUBLE_EQ(ran.observer.Curve("held/perplexity").front().second, std::exp(loss));
  EXPECT_DOUBLE_EQ(ran.observer.Curve("held/bits_per_byte").front().second, loss / std::log(2));
}

TEST_F(TrainerTest, PointsComeAtTheirStepsOnceAndInOrder) {
  const Ran ran = Run(MakeJob(home_));
  ASSERT_TRUE(ran.outcome.ok()) << ran.outcome.status();
  const auto steps = [&](const std::string& metric) {
    std::vector<int64_t> out;
    for (const auto& [step, value] : ran.observer.Curve(metric)) out.push_back(step);
    return out;
  };
  std::vector<int64_t> all(20);
  for (int64_t i = 0; i < 20; ++i) all[static_cast<size_t>(i)] = i + 1;
  EXPECT_EQ(steps("train/loss"), all);
  EXPECT_THAT(steps("train/learning_rate"), testing::ElementsAre(5, 10, 15, 20));
  EXPECT_THAT(steps("train/gradient_norm"), testing::ElementsAre(5, 10, 15, 20));
  EXPECT_THAT(steps("held/loss_sample"), testing::ElementsAre(0, 5, 10, 15, 20));
  EXPECT_THAT(steps("held/loss"), testing::ElementsAre(20));
  std::set<std::pair<std::string, int64_t>> keys;
  int64_t last = 0;
  for (const PointValue& point : ran.observer.points) {
    EXPECT_TRUE(keys.emplace(point.metric, point.step).second)
        << point.metric << " twice at " << point.step;
    EXPECT_GE(point.step, last);
    EXPECT_EQ(point.tokens, point.step * 64);
    last = point.step;
  }
}

TEST_F(TrainerTest, TheSameJobGivesTheSameBits) {
  const TrainerJob job = MakeJob(home_);
  const Ran one = Run(job), two = Run(job);
  EXPECT_EQ(Lines(one.observer.points), Lines(two.observer.points));
  EXPECT_EQ(one.observer.checkpoints.back().hash, two.observer.checkpoints.back().hash);
  TrainerJob other = job;
  other.seed = 4;
  EXPECT_NE(Lines(Run(other).observer.points), Lines(one.observer.points));
}

// paiml/entrenar#294, karpathy/nanoGPT#467: resumed with the data loader at its start, with the
// generator one draw off, or with the schedule anew.
TEST_F(TrainerTest, ResumedAfterAnyStepItGoesOnBitForBit) {
  TrainerJob job = MakeJob(home_);
  job.config.train.checkpoint_every = 64;
  const Ran whole = Run(job);
  ASSERT_TRUE(whole.outcome.ok()) << whole.outcome.status();
  ASSERT_EQ(whole.observer.checkpoints.size(), 20u);
  job.config.train.checkpoint_every = 0;
  for (const CheckpointInfo& checkpoint : whole.observer.checkpoints) {
    if (checkpoint.weights_only) continue;
    const Ran rest = Run(job, checkpoint.hash);
    ASSERT_TRUE(rest.outcome.ok()) << rest.outcome.status();
    EXPECT_EQ(Lines(rest.observer.points), Lines(whole.observer.points, checkpoint.step))
        << checkpoint.step;
    EXPECT_EQ(rest.observer.checkpoints.back().hash, whole.observer.checkpoints.back().hash);
  }
  EXPECT_TRUE(whole.observer.checkpoints.back().weights_only);
  EXPECT_EQ(whole.observer.checkpoints.back().step, 20);
}

// All that a step alone decides: which text a row is from, the encoding; and weights that were
// given are not asked for again.
TEST_F(TrainerTest, ResumedWithSeveralTextsASwitchAndGivenWeightsItGoesOnBitForBit) {
  TrainerJob job = MakeJob(home_);
  const std::string other = MakeDataset(home_, {"hgfedcbahgfedcba", "aabbccddeeffgghhaabbccdd"});
  job.train_datasets = {{job.train_datasets[0].hash, 0.6}, {other, 0.4}};
  job.initial_weights = Run(job).observer.checkpoints.back().hash;
  job.config.train.init_from = "checkpoint:1";
  job.config.train.checkpoint_every = 3 * 64;
  PositionSwitch& change = job.config.position.switches.emplace_back();
  change.at = 9 * 64;  // the step of a checkpoint
  change.to.common.p = 0.5;
  job.config.evaluate.contexts = {8, 32};
  job.config.evaluate.positions = {0, 8};
  job.key = "key of the next job";
  const Ran whole = Run(job);
  ASSERT_TRUE(whole.outcome.ok()) << whole.outcome.status();
  ASSERT_EQ(whole.observer.checkpoints.size(), 7u);
  for (const CheckpointInfo& checkpoint : whole.observer.checkpoints) {
    if (checkpoint.weights_only) continue;
    const Ran rest = Run(job, checkpoint.hash);
    ASSERT_TRUE(rest.outcome.ok()) << rest.outcome.status();
    EXPECT_EQ(Lines(rest.observer.points), Lines(whole.observer.points, checkpoint.step))
        << checkpoint.step;
    EXPECT_EQ(rest.observer.checkpoints.back().hash, whole.observer.checkpoints.back().hash);
  }
}

TEST_F(TrainerTest, StoppedAtAnyStepItLeavesACheckpointToGoOnFrom) {
  const TrainerJob job = MakeJob(home_);
  const std::vector<std::string> whole = Lines(Run(job).observer.points);
  for (int64_t at = 0; at < 20; ++at) {
    RecordingObserver observer;
    TrainControl control;
    observer.on_point = [&](const PointValue& point) { control.stop = point.step == at; };
    const auto outcome = Train(job, {home_, "", 1}, observer, control);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_TRUE(outcome->stopped);
    EXPECT_EQ(outcome->step, at);
    ASSERT_EQ(observer.checkpoints.size(), 1u);
    const Ran rest = Run(job, observer.checkpoints[0].hash);
    std::vector<std::string> joined = Lines(observer.points);
    for (const std::string& line : Lines(rest.observer.points)) joined.push_back(line);
    EXPECT_EQ(joined, whole) << "stopped at " << at;
  }
}

TEST_F(TrainerTest, ACheckpointCanBeAskedForOnTheWay) {
  const TrainerJob job = MakeJob(home_);
  RecordingObserver observer;
  TrainControl control;
  observer.on_point = [&](const PointValue& point) {
    if (point.step == 7) control.checkpoint = true;
  };
  ASSERT_TRUE(Train(job, {home_, "", 1}, observer, control).ok());
  ASSERT_EQ(observer.checkpoints.size(), 2u);
  EXPECT_EQ(observer.checkpoints[0].step, 7);
}

// huggingface/transformers#38837: the last, smaller window was divided by the usual number of
// micro-batches, or averages were averaged.
TEST_F(TrainerTest, AccumulationIsTheSameStepWhateverTheMicroBatch) {
  TrainerJob job = MakeJob(home_);
  job.config.train.tokens = 3 * 64;
  job.config.train.micro_batch = 4;
  const Ran whole = Run(job);
  for (const int micro_batch : {1, 2, 3}) {  // 3: a ragged last one
    job.config.train.micro_batch = micro_batch;
    const Ran parts = Run(job);
    ASSERT_TRUE(parts.outcome.ok()) << parts.outcome.status();
    ASSERT_EQ(parts.observer.points.size(), whole.observer.points.size());
    for (size_t i = 0; i < parts.observer.points.size(); ++i) {
      EXPECT_NEAR(parts.observer.points[i].value, whole.observer.points[i].value, 2e-5)
          << parts.observer.points[i].metric << " micro_batch " << micro_batch;
    }
  }
}

TEST_F(TrainerTest, DivergenceIsAResult) {
  TrainerJob job = MakeJob(home_);
  job.config.train.optimizer.lr = 1e30;
  job.config.train.schedule.warmup_tokens = 0;
  const Ran ran = Run(job);
  ASSERT_TRUE(ran.outcome.ok()) << ran.outcome.status();
  ASSERT_TRUE(ran.outcome->diverged_at_step.has_value());
  const int64_t at = *ran.outcome->diverged_at_step;
  EXPECT_LT(at, 20);
  EXPECT_EQ(ran.observer.points.back().step, at);
  EXPECT_FALSE(std::isfinite(ran.observer.points.back().value));
  EXPECT_TRUE(ran.observer.Curve("held/loss").empty());
}

// bfloat16 in the products leaves a job what it was, but for some percent.
TEST_F(TrainerTest, Bf16LearnsTheSameAndGoesOnBitForBit) {
  if (UsablePrecision(kDefaultBackend, Precision::kBf16) != Precision::kBf16) {
    GTEST_SKIP() << "this processor has no instructions for bf16";
  }
  TrainerJob job = MakeJob(home_);
  job.config.train.tokens = 60 * 64;
  const Ran wide = Run(job);
  job.config.train.precision = "bf16";
  job.config.train.checkpoint_every = 20 * 64;
  const Ran narrow = Run(job), again = Run(job);
  ASSERT_TRUE(narrow.outcome.ok()) << narrow.outcome.status();
  EXPECT_EQ(Lines(narrow.observer.points), Lines(again.observer.points));
  const double loss = wide.observer.Curve("held/loss").front().second;
  EXPECT_NE(narrow.observer.Curve("held/loss").front().second, loss);
  EXPECT_NEAR(narrow.observer.Curve("held/loss").front().second, loss, 0.05 * loss);
  const CheckpointInfo& first = narrow.observer.checkpoints.front();
  const Ran resumed = Run(job, first.hash);
  ASSERT_TRUE(resumed.outcome.ok()) << resumed.outcome.status();
  EXPECT_EQ(Lines(resumed.observer.points), Lines(narrow.observer.points, first.step));
}

TEST_F(TrainerTest, WhereThereIsNoBf16AJobTrainsInFloat32) {
  TrainerJob job = MakeJob(home_);
  job.config.train.tokens = 3 * 64;
  const Ran wide = Run(job, "", "reference");
  job.config.train.precision = "bf16";
  const Ran asked = Run(job, "", "reference");
  ASSERT_TRUE(asked.outcome.ok()) << asked.outcome.status();
  EXPECT_EQ(Lines(asked.observer.points), Lines(wide.observer.points));
}

TEST_F(TrainerTest, AnMlpWithoutAGateLearnsToo) {
  TrainerJob job = MakeJob(home_);
  job.config.train.tokens = 120 * 64;
  job.config.model.mlp = "plain";
  const Ran ran = Run(job);
  ASSERT_TRUE(ran.outcome.ok()) << ran.outcome.status();
  EXPECT_LT(ran.observer.Curve("held/loss").front().second, 0.6 * std::log(8));
}

TEST_F(TrainerTest, WhatCannotBeTrainedIsSaid) {
  const TrainerJob good = MakeJob(home_);
  TrainerJob job = good;
  job.train_datasets = {TrainText{std::string(64, 'a')}};
  EXPECT_EQ(Error(job).code(), StatusCode::kNotFound);
  job = good, job.validation_datasets.clear();
  EXPECT_EQ(Error(job).code(), StatusCode::kInvalidArgument);
  job = good, job.validation_datasets["none"] = MakeDataset(home_, {"", ""}, "none");
  EXPECT_THAT(Error(job).message(), HasSubstr("no text"));
  job = good, job.config.train.batch_tokens = 40;
  EXPECT_THAT(Error(job).message(), HasSubstr("multiple"));
  job = good, job.config.model.vocab_size = 256;
  EXPECT_THAT(Error(job).message(), HasSubstr("vocab_size"));
  job = good, job.config.train.precision = "float16";
  EXPECT_THAT(Error(job).message(), HasSubstr("no precision is called 'float16'"));
  job = good, job.config.model.mlp = "wide";
  EXPECT_THAT(Error(job).message(), HasSubstr("'wide' is not one of gated, plain"));
  job = good, job.config.train.tokens = 0;
  EXPECT_EQ(Error(job).code(), StatusCode::kInvalidArgument);
}

TEST_F(TrainerTest, ATextSmallerThanABatchTrainsForSeveralEpochs) {
  TrainerJob job = MakeJob(home_);
  job.train_datasets = {TrainText{MakeDataset(home_, {"abc"})}};
  EXPECT_TRUE(Run(job).outcome.ok());
}

TEST_F(TrainerTest, CheckpointsThatDoNotFitAreRefused) {
  TrainerJob job = MakeJob(home_);
  job.config.train.tokens = 2 * 64;
  job.config.train.checkpoint_every = 64;
  const Ran ran = Run(job);
  const std::string state = ran.observer.checkpoints.front().hash,
                    weights = ran.observer.checkpoints.back().hash;
  EXPECT_EQ(Error(job, std::string(64, '0')).code(), StatusCode::kNotFound);
  EXPECT_EQ(Error(job, "../../secret").code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Error(job, weights).message(), HasSubstr("weights only"));
  TrainerJob other = job;
  other.key = "another";
  EXPECT_THAT(Error(other, state).message(), HasSubstr("another job"));
  other = job;
  other.config.model.intermediate_size = 24;
  EXPECT_THAT(Error(other, state).message(), HasSubstr("shape"));
  EXPECT_EQ(Error(other, state).code(), StatusCode::kFailedPrecondition);

  const std::string path = "objects/" + state;
  std::string bytes = *ReadFile(home_ / path);
  bytes[bytes.size() - 5] ^= 1;
  Write(path, bytes);
  EXPECT_EQ(Error(job, state).code(), StatusCode::kDataLoss);
  Write(path, bytes.substr(0, bytes.size() / 2));
  EXPECT_EQ(Error(job, state).code(), StatusCode::kDataLoss);
}

TEST_F(TrainerTest, ACheckpointThatCannotBeWrittenNamesTheFolderAndLeavesNothing) {
  const TrainerJob job = MakeJob(home_);
  Write("objects", "a file where the folder should be");
  const Status status = Error(job);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr(home_.string()));
  std::error_code error;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(home_ / "tmp", error), {}), 0);
}

}  // namespace
}  // namespace gyre
