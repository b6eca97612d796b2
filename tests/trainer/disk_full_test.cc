// ray-project/ray#23674, ray-project/ray#23688: a full disk costs no result.

#include <gtest/gtest.h>

#include "base/log.h"
#include "tests/small_disk.h"
#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/made_job.h"
#include "trainer/trainer.h"

namespace gyre {
namespace {

class FullDiskObserver : public RecordingObserver {
 public:
  void OnDiskFull(const std::string&) override {
    ++times_full;
    if (on_full) on_full();
  }
  int times_full = 0;
  std::function<void()> on_full;
};

class TrainerDiskFullTest : public TemporaryHomeTest {
 protected:
  TrainerDiskFullTest() { SetLogLevel(LogLevel::kOff); }
  const SmallDisk disk_{home_ / "disk", size_t{16} << 20};
};

TEST_F(TrainerDiskFullTest, CheckpointsInTheMiddleAreLeftOutAndTheLastWeightsWaitForRoom) {
  if (!disk_.mounted()) GTEST_SKIP() << "a small disk needs root";
  TrainerJob job = MakeJob(home_ / "disk");
  job.config.train.checkpoint_every = 4 * job.config.train.batch_tokens;
  RecordingObserver undisturbed;
  TrainControl control;
  const auto expected = Train(job, {home_ / "disk", "", 1}, undisturbed, control);
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_GT(undisturbed.checkpoints.size(), 2u);

  FullDiskObserver observer;
  const int in_the_middle = static_cast<int>(undisturbed.checkpoints.size()) - 1;
  observer.on_full = [&] {
    if (observer.times_full > in_the_middle) disk_.Empty();
  };
  disk_.Fill();
  const auto outcome = Train(job, {home_ / "disk", "", 1}, observer, control);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->step, expected->step);
  EXPECT_EQ(observer.times_full, in_the_middle + 1);
  ASSERT_EQ(observer.checkpoints.size(), 1u);
  EXPECT_TRUE(observer.checkpoints[0].weights_only);
  EXPECT_EQ(observer.checkpoints[0].hash, undisturbed.checkpoints.back().hash);
  EXPECT_EQ(observer.Curve("train/loss"), undisturbed.Curve("train/loss"));
}

TEST_F(TrainerDiskFullTest, AJobThatWaitsForRoomCanBeStopped) {
  if (!disk_.mounted()) GTEST_SKIP() << "a small disk needs root";
  const TrainerJob job = MakeJob(home_ / "disk");
  FullDiskObserver observer;
  TrainControl control;
  observer.on_full = [&] { control.stop = true; };
  disk_.Fill();
  const auto outcome = Train(job, {home_ / "disk", "", 1}, observer, control);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_TRUE(outcome->stopped);
  EXPECT_TRUE(observer.checkpoints.empty());
}

}  // namespace
}  // namespace gyre
