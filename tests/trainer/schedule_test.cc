#include "trainer/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace gyre {
namespace {

using testing::ElementsAre;

TrainConfig Config(int64_t tokens, int64_t batch_tokens, int64_t warmup_tokens, double last = 0.1) {
  TrainConfig train;
  train.tokens = tokens;
  train.batch_tokens = batch_tokens;
  train.optimizer.lr = 2;
  train.schedule = {"cosine", warmup_tokens, last};
  return train;
}

template <typename Predicate>
std::vector<int64_t> StepsWhere(int64_t last, Predicate predicate) {
  std::vector<int64_t> steps;
  for (int64_t step = 0; step <= last; ++step) {
    if (predicate(step)) steps.push_back(step);
  }
  return steps;
}

TEST(ScheduleTest, WarmsUpPeaksAndEndsAtTheFinalShare) {
  const TrainConfig train = Config(1000, 10, 200);
  EXPECT_DOUBLE_EQ(LearningRate(train, 1), 2 * 10.0 / 200);
  EXPECT_DOUBLE_EQ(LearningRate(train, 10), 1);
  EXPECT_DOUBLE_EQ(LearningRate(train, 20), 2);
  EXPECT_DOUBLE_EQ(LearningRate(train, 60), 2 * (0.1 + 0.9 / 2));  // half way down
  EXPECT_DOUBLE_EQ(LearningRate(train, 100), 0.2);
}

TEST(ScheduleTest, WithoutWarmUpTheFirstStepIsNearThePeak) {
  EXPECT_NEAR(LearningRate(Config(1000, 10, 0), 1), 2, 1e-3);
  TrainConfig constant = Config(1000, 10, 0);
  constant.schedule.name = "constant";
  EXPECT_DOUBLE_EQ(LearningRate(constant, 100), 2);
}

// karpathy/nanochat#775: micro-batches were counted as steps, and the rate ended at -127 times the
// peak. Here it is a function of the optimizer step, within bounds for any step.
TEST(ScheduleTest, StaysBetweenZeroAndThePeakWhateverTheNumbers) {
  const Random random(1, "schedule test");
  for (uint64_t i = 0; i < 2000; ++i) {
    const auto draw = [&](uint64_t what, uint64_t n) {
      return static_cast<int64_t>(random.Below(n, i, what));
    };
    const TrainConfig train =
        Config(1 + draw(0, 10'000), 1 + draw(1, 500), draw(2, 20'000), random.Uniform(i, 3));
    for (const int64_t step :
         {int64_t{0}, int64_t{1}, draw(4, 20'000), TotalSteps(train), TotalSteps(train) * 1000}) {
      const double lr = LearningRate(train, step);
      EXPECT_GE(lr, 0);
      EXPECT_LE(lr, train.optimizer.lr);
    }
    if (train.schedule.warmup_tokens < train.tokens) {
      EXPECT_NEAR(LearningRate(train, TotalSteps(train)), 2 * train.schedule.final_lr_fraction,
                  1e-12);
    }
  }
}

TEST(ScheduleTest, EvaluatesAtZeroAtEachMultipleReachedAndAtTheLast) {
  JobConfig config;
  config.train = Config(100, 7, 0);  // 15 steps
  config.evaluate.every = 20;
  const auto evaluated = [&] {
    return StepsWhere(15, [&](int64_t s) { return EvaluatesAt(config, s); });
  };
  EXPECT_THAT(evaluated(), ElementsAre(0, 3, 6, 9, 12, 15));  // 21, 42, 63, 84, 105
  config.evaluate.every = 3;                                  // oftener than steps
  EXPECT_EQ(evaluated().size(), 16u);
  config.evaluate.every = 0;
  EXPECT_THAT(evaluated(), ElementsAre(0, 15));
}

TEST(ScheduleTest, StatisticsComeLikewiseWhereAnythingIsCollected) {
  JobConfig config;
  config.train = Config(100, 7, 0);  // 15 steps
  config.statistics.every = 20;
  const auto collected = [&] {
    return StepsWhere(15, [&](int64_t s) { return CollectsAt(config, s); });
  };
  EXPECT_THAT(collected(), ElementsAre());
  config.statistics.collect = {kHeadScores};
  EXPECT_THAT(collected(), ElementsAre(0, 3, 6, 9, 12, 15));
  config.statistics.every = 1000;
  EXPECT_THAT(collected(), ElementsAre(0, 15));
}

TEST(ScheduleTest, NoCheckpointToResumeFromAfterTheLastStep) {
  TrainConfig train = Config(100, 10, 0);
  train.checkpoint_every = 50;
  EXPECT_THAT(StepsWhere(10, [&](int64_t s) { return CheckpointsAt(train, s); }), ElementsAre(5));
  train.checkpoint_every = 0;
  EXPECT_THAT(StepsWhere(10, [&](int64_t s) { return CheckpointsAt(train, s); }), ElementsAre());
}

TEST(ScheduleTest, LossIsReportedAtEveryStepOfAShortJobAndThinnedInALongOne) {
  const TrainConfig brief = Config(1000 * 10, 10, 0);
  EXPECT_EQ(StepsWhere(1000, [&](int64_t s) { return ReportsLossAt(brief, s); }).size(), 1000u);
  const TrainConfig longer = Config(2501 * 10, 10, 0);
  const auto steps = StepsWhere(2501, [&](int64_t s) { return ReportsLossAt(longer, s); });
  EXPECT_EQ(steps.size(), 833u + 2);
  EXPECT_THAT(std::vector<int64_t>(steps.begin(), steps.begin() + 4), ElementsAre(1, 3, 6, 9));
  EXPECT_EQ(steps.back(), 2501);
}

}  // namespace
}  // namespace gyre
