// A worker whose jobs run in two real trainers: what is killed and resumed gives the same points
// and the same weights, bit for bit, as what is not.

#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <map>
#include <utility>

#include "base/ids.h"
#include "base/log.h"
#include "tests/integration/process.h"
#include "tests/trainer/collective/ranks_in_threads.h"
#include "tests/trainer/made_job.h"
#include "tests/worker/fake_coordinator.h"
#include "worker/agent.h"

namespace gyre {
namespace {

class RanksTest : public ::testing::Test {
 protected:
  using Curves = std::map<std::pair<std::string, int64_t>, uint64_t>;  // bits of (metric, step)

  RanksTest() : home_(std::filesystem::temp_directory_path() / ("gyre-ranks-" + NewId())) {}
  void SetUp() override {
    SetLogLevel(LogLevel::kOff);
    if (!HasGloo(home_ / "gloo")) GTEST_SKIP() << "this build has no gloo";
    TrainerJob job = MakeJob(home_);
    job.config.train.tokens = 400 * job.config.train.batch_tokens;
    job.config.train.checkpoint_every = 20 * job.config.train.batch_tokens;
    job_ = ToJson(job).dump();
    auto worker =
        Worker::Start({.slots = 1, .home = home_, .trainer = GYRE_TRAINER, .cpu_ranks = 2},
                      coordinator_.Client());
    ASSERT_TRUE(worker.ok()) << worker.status();
    worker_ = *std::move(worker);
  }
  ~RanksTest() override {
    if (worker_ != nullptr) worker_->Shutdown(Millis(10000));
    std::filesystem::remove_all(home_);
  }

  FakeCoordinator::Record Ended(int64_t job_id) {
    EXPECT_TRUE(coordinator_.AwaitEnd(job_id));
    return coordinator_.Get(job_id);
  }
  void Offer(int64_t job_id, const std::string& checkpoint) {
    coordinator_.OfferLease({.attempt = {job_id, 1}, .job = job_, .checkpoint_hash = checkpoint});
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

TEST_F(RanksTest, AJobOfWhichARankIsKilledGoesOnBitForBit) {
  Offer(1, "");
  const auto undisturbed = Ended(1);
  ASSERT_EQ(undisturbed.end->outcome, Outcome::kSucceeded) << undisturbed.end->error;
  EXPECT_NE(undisturbed.end->fingerprint.find("\"ranks\":2"), std::string::npos);

  Curves expected, resumed;
  Add(undisturbed, &expected);
  std::string checkpoint;
  int64_t job = 1;
  for (const bool first : {false, true}) {  // rank 1, then rank 0
    Offer(++job, checkpoint);
    ASSERT_TRUE(coordinator_.AwaitCheckpoint(job));
    const std::vector<int> trainers = ChildrenOf(getpid());
    ASSERT_EQ(trainers.size(), 2u);
    KillProcess(first ? trainers[0] : trainers[1]);
    const auto killed = Ended(job);
    ASSERT_EQ(killed.end->outcome, Outcome::kLost) << killed.end->error;
    EXPECT_NE(killed.end->error.message().find(first ? "of rank 0 was" : "of rank 1 was"),
              std::string::npos)
        << killed.end->error;
    for (const int trainer : trainers) EXPECT_FALSE(first && Runs(trainer));
    checkpoint = killed.checkpoints.back().checkpoint.hash;
    Add(killed, &resumed);
  }
  Offer(++job, checkpoint);
  const auto last = Ended(job);
  ASSERT_EQ(last.end->outcome, Outcome::kSucceeded) << last.end->error;
  Add(last, &resumed);
  EXPECT_EQ(resumed, expected);
  EXPECT_EQ(last.checkpoints.back().checkpoint.hash,
            undisturbed.checkpoints.back().checkpoint.hash);
}

}  // namespace
}  // namespace gyre
