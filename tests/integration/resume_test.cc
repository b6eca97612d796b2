// A worker with the real trainer, and a coordinator in memory: what is killed and resumed gives the
// same points and the same weights, bit for bit, as what is not.

#include <gtest/gtest.h>
#include <signal.h>

#include <bit>
#include <filesystem>
#include <map>
#include <utility>

#include "base/ids.h"
#include "base/log.h"
#include "tests/integration/process.h"
#include "tests/trainer/made_job.h"
#include "tests/worker/fake_coordinator.h"
#include "worker/agent.h"

namespace gyre {
namespace {

class ResumeTest : public ::testing::Test {
 protected:
  using Curves = std::map<std::pair<std::string, int64_t>, uint64_t>;  // bits of (metric, step)

  ResumeTest() : home_(std::filesystem::temp_directory_path() / ("gyre-resume-" + NewId())) {
    SetLogLevel(LogLevel::kOff);
    TrainerJob job = MakeJob(home_);
    job.config.train.tokens = 3000 * job.config.train.batch_tokens;
    job.config.train.checkpoint_every = 100 * job.config.train.batch_tokens;
    job.config.evaluate.every = 500 * job.config.train.batch_tokens;
    job_ = ToJson(job).dump();
    auto worker =
        Worker::Start({.slots = 1, .home = home_, .trainer = GYRE_TRAINER}, coordinator_.Client());
    EXPECT_TRUE(worker.ok()) << worker.status();
    worker_ = *std::move(worker);
  }
  ~ResumeTest() override {
    worker_->Shutdown(Millis(10000));
    std::filesystem::remove_all(home_);
  }

  void Offer(int64_t job_id, const std::string& checkpoint) {
    coordinator_.OfferLease({.attempt = {job_id, 1}, .job = job_, .checkpoint_hash = checkpoint});
  }
  FakeCoordinator::Record Ended(int64_t job_id) {
    EXPECT_TRUE(coordinator_.AwaitEnd(job_id));
    return coordinator_.Get(job_id);
  }
  static void Add(const FakeCoordinator::Record& record, Curves* curves) {
    for (const PointBatch& batch : record.batches) {
      for (const Point& point : batch.points) {
        (*curves)[{point.metric, point.step}] = std::bit_cast<uint64_t>(point.value);
      }
    }
  }

  const std::filesystem::path home_;
  std::string job_;
  FakeCoordinator coordinator_;
  std::unique_ptr<Worker> worker_;
};

TEST_F(ResumeTest, AKilledTrainersJobGoesOnBitForBit) {
  Offer(1, "");
  const auto undisturbed = Ended(1);
  ASSERT_EQ(undisturbed.end->outcome, Outcome::kSucceeded) << undisturbed.end->error;

  Offer(2, "");
  ASSERT_TRUE(coordinator_.AwaitCheckpoint(2));
  for (const int trainer : ChildrenOf(getpid())) KillProcess(trainer);
  const auto killed = Ended(2);
  ASSERT_EQ(killed.end->outcome, Outcome::kLost) << killed.end->error;

  Offer(3, killed.checkpoints.back().checkpoint.hash);
  ASSERT_TRUE(coordinator_.AwaitCheckpoint(3));
  coordinator_.Wish({3, 1}, Desire::kStop);
  const auto stopped = Ended(3);
  ASSERT_EQ(stopped.end->outcome, Outcome::kStopped) << stopped.end->error;
  EXPECT_EQ(stopped.end->step, stopped.checkpoints.back().checkpoint.step);

  Offer(4, stopped.checkpoints.back().checkpoint.hash);
  const auto last = Ended(4);
  ASSERT_EQ(last.end->outcome, Outcome::kSucceeded) << last.end->error;
  EXPECT_EQ(last.end->step, 3000);

  Curves expected, resumed;
  Add(undisturbed, &expected);
  Add(killed, &resumed);
  Add(stopped, &resumed);
  Add(last, &resumed);
  EXPECT_GT(expected.size(), 1000u);
  EXPECT_EQ(resumed, expected);
  EXPECT_TRUE(last.checkpoints.back().checkpoint.weights_only);
  EXPECT_EQ(last.checkpoints.back().checkpoint.hash,
            undisturbed.checkpoints.back().checkpoint.hash);
}

TEST_F(ResumeTest, AMissingCheckpointFailsTheAttemptInWords) {
  Offer(1, std::string(64, 'a'));
  const auto record = Ended(1);
  EXPECT_EQ(record.end->outcome, Outcome::kFailed);
  EXPECT_EQ(record.end->error.code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace gyre
