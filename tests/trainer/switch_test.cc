// position.switch: the encoding changes in mid-training.

#include <gmock/gmock.h>

#include "base/files.h"
#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/made_job.h"

namespace gyre {
namespace {

class SwitchTest : public TemporaryHomeTest {
 protected:
  SwitchTest() {
    job_ = MakeJob(home_);
    job_.config.position.common.theta = 20;
    job_.config.train.checkpoint_every = 64;
    job_.config.evaluate.every = 64;
  }
  // Steps have 64 tokens.
  TrainerJob Switching(int64_t at, double p) {
    TrainerJob job = job_;
    PositionSwitch& change = job.config.position.switches.emplace_back();
    change.at = at;
    change.to.common = job.config.position.common;
    change.to.common.p = p;
    return job;
  }
  RecordingObserver Run(const TrainerJob& job, const std::string& resume_from = "") {
    RecordingObserver observer;
    TrainControl control;
    const auto outcome = Train(job, {home_, resume_from, 1}, observer, control);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return observer;
  }
  static double At(const RecordingObserver& run, const std::string& metric, int64_t step) {
    for (const auto& [at, value] : run.Curve(metric)) {
      if (at == step) return value;
    }
    ADD_FAILURE() << metric << " has no point at " << step;
    return 0;
  }

  TrainerJob job_;
};

TEST_F(SwitchTest, ItChangesAtTheFirstStepWhoseTokensReachIt) {
  const RecordingObserver plain = Run(job_);
  const RecordingObserver switched = Run(Switching(7 * 64 - 10, 0.5));  // step 7
  for (int64_t step = 1; step <= 7; ++step) {
    EXPECT_EQ(At(switched, "train/loss", step), At(plain, "train/loss", step)) << step;
  }
  for (int64_t step = 0; step < 7; ++step) {
    EXPECT_EQ(At(switched, "held/loss_sample", step), At(plain, "held/loss_sample", step)) << step;
  }
  // The same weights, with the encoding in force.
  EXPECT_NE(At(switched, "held/loss_sample", 7), At(plain, "held/loss_sample", 7));
  EXPECT_NE(At(switched, "train/loss", 8), At(plain, "train/loss", 8));
}

TEST_F(SwitchTest, ConvertedAtTheEndItIsEvaluatedWithoutTraining) {
  const RecordingObserver plain = Run(job_);
  const RecordingObserver switched = Run(Switching(20 * 64, 0));
  EXPECT_EQ(At(switched, "train/loss", 20), At(plain, "train/loss", 20));
  EXPECT_NE(At(switched, "held/loss", 20), At(plain, "held/loss", 20));
  EXPECT_EQ(switched.checkpoints.back().hash, plain.checkpoints.back().hash);
}

TEST_F(SwitchTest, KilledBeforeOrAfterItGoesOnBitForBit) {
  TrainerJob job = Switching(6 * 64, 0.5);
  PositionSwitch& again = job.config.position.switches.emplace_back();
  again.at = 12 * 64;
  again.to.common.type = "nope";
  const RecordingObserver whole = Run(job);
  ASSERT_EQ(whole.checkpoints.size(), 20u);
  for (const CheckpointInfo& checkpoint : whole.checkpoints) {
    if (checkpoint.weights_only) continue;
    const RecordingObserver rest = Run(job, checkpoint.hash);
    for (const PointValue& point : rest.points) {
      EXPECT_EQ(point.value, At(whole, point.metric, point.step))
          << point.metric << " at " << point.step << ", resumed at " << checkpoint.step;
    }
    EXPECT_EQ(rest.checkpoints.back().hash, whole.checkpoints.back().hash);
  }
}

TEST_F(SwitchTest, OtherContextsHaveTheEncodingInForce) {
  TrainerJob nope = Switching(64, 0), rope = job_;
  nope.config.train.optimizer.lr = rope.config.train.optimizer.lr = 1e-30;  // the weights stay
  nope.config.evaluate.contexts = rope.config.evaluate.contexts = {32};
  TrainerJob always = rope;
  always.config.position.common.type = "nope";
  EXPECT_EQ(At(Run(nope), "held/loss@32", 20), At(Run(always), "held/loss@32", 20));
  EXPECT_NE(At(Run(nope), "held/loss@32", 20), At(Run(rope), "held/loss@32", 20));
}

}  // namespace
}  // namespace gyre
