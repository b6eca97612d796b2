// train.init_from: a job starts from given weights, and everything else is its own.

#include <gmock/gmock.h>

#include "base/files.h"
#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/made_job.h"

namespace gyre {
namespace {

using testing::HasSubstr;

class InitFromTest : public TemporaryHomeTest {
 protected:
  struct Ran {
    Status status;
    RecordingObserver observer;
    double At(const std::string& metric, int64_t step) const {
      for (const auto& [at, value] : observer.Curve(metric)) {
        if (at == step) return value;
      }
      ADD_FAILURE() << metric << " has no point at " << step;
      return 0;
    }
  };
  Ran Run(const TrainerJob& job, const std::string& resume_from = "") {
    Ran ran;
    TrainControl control;
    ran.status = Train(job, {home_, resume_from, 1}, ran.observer, control).status();
    return ran;
  }
  // The job that goes on from `weights`.
  TrainerJob From(const std::string& weights) {
    TrainerJob job = job_;
    job.key = "key of the next job";
    job.config.train.init_from = "checkpoint:1";
    job.initial_weights = weights;
    return job;
  }
  TrainerJob job_ = MakeJob(home_);
};

TEST_F(InitFromTest, ItStartsWhereTheOtherEnded) {
  const Ran first = Run(job_);
  ASSERT_TRUE(first.status.ok()) << first.status;
  const Ran next = Run(From(first.observer.checkpoints.back().hash));
  ASSERT_TRUE(next.status.ok()) << next.status;
  EXPECT_EQ(next.At("held/loss_sample", 0), first.At("held/loss_sample", 20));
  EXPECT_EQ(next.observer.points.front().step, 0);
  // Its own schedule from the start.
  EXPECT_EQ(next.At("train/learning_rate", 5), first.At("train/learning_rate", 5));
  EXPECT_LT(next.At("held/loss", 20), first.At("held/loss", 20));
}

TEST_F(InitFromTest, AFullCheckpointGivesItsWeightsAndNotItsMoments) {
  job_.config.train.checkpoint_every = 10 * 64;
  const Ran first = Run(job_);
  ASSERT_FALSE(first.observer.checkpoints.front().weights_only);
  const Ran next = Run(From(first.observer.checkpoints.front().hash));
  ASSERT_TRUE(next.status.ok()) << next.status;
  EXPECT_EQ(next.At("held/loss_sample", 0), first.At("held/loss_sample", 10));
  // The same weights and batches, a fresh optimizer.
  EXPECT_NE(next.At("held/loss_sample", 5), first.At("held/loss_sample", 15));
}

TEST_F(InitFromTest, ResumedItDoesNotNeedThemAnyMore) {
  const Ran first = Run(job_);
  TrainerJob job = From(first.observer.checkpoints.back().hash);
  job.config.train.checkpoint_every = 10 * 64;
  const Ran whole = Run(job);
  std::filesystem::remove(home_ / "objects" / job.initial_weights);
  const Ran rest = Run(job, whole.observer.checkpoints.front().hash);
  ASSERT_TRUE(rest.status.ok()) << rest.status;
  EXPECT_EQ(rest.At("held/loss", 20), whole.At("held/loss", 20));
  EXPECT_EQ(rest.observer.checkpoints.back().hash, whole.observer.checkpoints.back().hash);
  const Status missing = Run(job).status;
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("initial weights"));
}

TEST_F(InitFromTest, WeightsOfAnotherModelAreRefusedByTheFirstTensor) {
  const Ran first = Run(job_);
  TrainerJob job = From(first.observer.checkpoints.back().hash);
  job.config.model.intermediate_size = 24;
  const Status status = Run(job).status;
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);  // trying again would not help
  EXPECT_THAT(status.message(), HasSubstr("model.layers.0.mlp.gate_proj.weight"));
  job = From("");
  EXPECT_EQ(Run(job).status.code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gyre
