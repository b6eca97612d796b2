// Who gets which job, through the coordinator: turns of submitters, causes of retries, nodes that a
// job had better avoid.

#include <gmock/gmock.h>

#include "tests/coordinator/harness.h"
#include "trainer/config/job_config.h"

namespace gyre {
namespace {

class SchedulingTest : public CoordinatorTest {
 protected:
  PreparedSweep SweepOf(const std::string& name, const std::string& submitter, int seeds) {
    PreparedSweep sweep = MakeSweep(name, 1, seeds);
    sweep.record.submitted_by = submitter;
    sweep.record.retry_backoff_ms = 0;
    for (Job& job : sweep.jobs) job.key = name + job.key;
    for (PreparedVariant& variant : sweep.variants) {
      variant.record.config = R"({"train":{"micro_batch":8}})";
    }
    return sweep;
  }
  std::optional<LeaseReply> Lease(const std::string& incarnation) {
    auto lease = Acquire(incarnation);
    EXPECT_TRUE(lease.ok()) << lease.status();
    return lease.ok() ? *lease : std::nullopt;
  }
  std::string Why(int64_t job) {
    auto reply = Get<JobReply>([&](const Moment& at) { return coordinator_->GetJob(job, at); });
    return reply.ok() ? reply->why : reply.status().ToString();
  }
  static int MicroBatch(const LeaseReply& lease) {
    return Json::parse(lease.job)["config"]["train"]["micro_batch"].get<int>();
  }
  void RunOutOfMemory(const LeaseReply& lease, const std::string& incarnation) {
    ASSERT_TRUE(Finish(Ref(lease, incarnation), AttemptOutcome::kFailed, 0, "out of memory",
                       "RESOURCE_EXHAUSTED")
                    .ok());
  }
};

TEST_F(SchedulingTest, SubmittersTakeTurnsOnOneSlot) {
  ASSERT_TRUE(Submit(SweepOf("long", "ada", 4)).ok());
  ASSERT_TRUE(Submit(SweepOf("short", "bob", 2)).ok());
  ASSERT_TRUE(Register("w", "i").ok());
  std::string order;
  for (int i = 0; i < 6; ++i) {
    const auto lease = Lease("i");
    ASSERT_TRUE(lease.has_value());
    order += lease->sweep + " ";
    ASSERT_TRUE(Finish(Ref(*lease, "i"), AttemptOutcome::kSucceeded).ok());
  }
  EXPECT_EQ(order, "long short long short long long ");
}

// ray-project/ray#30013: want of memory was tried again for ever, and always the same way.
TEST_F(SchedulingTest, OutOfMemoryTwiceGoesOnWithFewerRowsAndThenFails) {
  ASSERT_TRUE(Submit(SweepOf("big", "ada", 1)).ok());
  for (int i = 1; i <= 3; ++i) {
    // Another machine each time, so that none is avoided.
    const std::string incarnation = "i" + std::to_string(i);
    ASSERT_TRUE(Register("node" + std::to_string(i), incarnation).ok());
    const auto lease = Lease(incarnation);
    ASSERT_TRUE(lease.has_value());
    EXPECT_EQ(MicroBatch(*lease), i < 3 ? 8 : 4);
    RunOutOfMemory(*lease, incarnation);
  }
  EXPECT_EQ(Jobs(), "1|FAILED");
  EXPECT_EQ(Sql("SELECT details ->> '$.micro_batch' FROM events WHERE kind = 'attempt_leased'"),
            "NULL; NULL; 4");
  EXPECT_THAT(Why(1), testing::HasSubstr("it ran out of memory 3 times"));
}

TEST_F(SchedulingTest, AJobThatFailedTwiceOnANodeGoesElsewhereWhereItCan) {
  PreparedSweep sweep = SweepOf("odd", "ada", 1);
  sweep.record.retry_attempts = 9;
  ASSERT_TRUE(Submit(std::move(sweep)).ok());
  ASSERT_TRUE(Register("bad/0", "i").ok());
  const auto fail = [&](const std::string& incarnation) {
    const auto lease = Lease(incarnation);
    ASSERT_TRUE(lease.has_value());
    ASSERT_TRUE(
        Finish(Ref(*lease, incarnation), AttemptOutcome::kFailed, 0, "a cable", "INTERNAL").ok());
  };
  fail("i");
  fail("i");
  fail("i");  // there is no other
  ASSERT_TRUE(Register("good", "g").ok());
  EXPECT_FALSE(Lease("i").has_value());
  ASSERT_TRUE(Register("bad/1", "j").ok());  // the same machine
  EXPECT_FALSE(Lease("j").has_value());
  EXPECT_THAT(Why(1), testing::HasSubstr("failed or was lost on bad before"));
  Restart();  // what speaks against a node is in the file
  EXPECT_FALSE(Lease("i").has_value());
  EXPECT_TRUE(Lease("g").has_value());
}

TEST_F(SchedulingTest, QueuedAnewByItsUserItMayGoThereAgain) {
  PreparedSweep sweep = SweepOf("odd", "ada", 1);
  sweep.record.retry_attempts = 2;
  ASSERT_TRUE(Submit(std::move(sweep)).ok());
  ASSERT_TRUE(Register("bad", "i").ok());
  for (int i = 0; i < 2; ++i) {
    const auto lease = Lease("i");
    ASSERT_TRUE(lease.has_value());
    ASSERT_TRUE(Finish(Ref(*lease, "i"), AttemptOutcome::kFailed, 0, "a cable", "INTERNAL").ok());
  }
  EXPECT_EQ(Jobs(), "1|FAILED");
  ASSERT_TRUE(Register("good", "g").ok());
  ASSERT_TRUE(
      Get<TargetReply>([&](const Moment& at) { return coordinator_->Retry({.job = 1}, at); }).ok());
  Restart();
  EXPECT_TRUE(Lease("i").has_value());
}

// optuna/optuna#5860: preemption counted as failure.
TEST_F(SchedulingTest, PreemptionIsFreeAndNoNodeIsAvoidedForIt) {
  ASSERT_TRUE(Submit(SweepOf("s", "ada", 1)).ok());
  ASSERT_TRUE(Register("spot", "i").ok());
  ASSERT_TRUE(Register("other", "o").ok());
  for (int i = 0; i < 8; ++i) {
    const auto lease = Lease("i");
    ASSERT_TRUE(lease.has_value());
    ASSERT_TRUE(Finish(Ref(*lease, "i"), AttemptOutcome::kStopped).ok());
  }
  EXPECT_EQ(Sql("SELECT state, failures, losses FROM jobs"), "QUEUED|0|0");
}

TEST_F(SchedulingTest, AJobThatNeedsAWholeMachineGetsAPlaceAndItIsExplained) {
  PreparedSweep big = SweepOf("big", "ada", 1);
  big.record.resources.cpus = 4;
  ASSERT_TRUE(Submit(SweepOf("small", "bob", 9)).ok());
  ASSERT_TRUE(Register("w", "i", 4).ok());
  const auto small = Lease("i");
  ASSERT_TRUE(small.has_value());
  ASSERT_TRUE(Submit(std::move(big)).ok());
  EXPECT_FALSE(Lease("i").has_value());
  EXPECT_EQ(Why(10),
            "w keeps a place for it, until what runs there has ended: nothing has room for it now, "
            "and what would delay it does not start there");
  ASSERT_TRUE(Finish(Ref(*small, "i"), AttemptOutcome::kSucceeded).ok());
  std::optional<LeaseReply> lease;
  ASSERT_TRUE(Do([&](const Moment& at) {
                return coordinator_->Acquire(
                    77, {.incarnation = "i", .slots = 4, .cpus = 4, .memory_bytes = 1 << 30},
                    [&](const std::optional<LeaseReply>& reply) { lease = reply; }, at);
              }).ok());
  ASSERT_TRUE(lease.has_value());
  EXPECT_EQ(lease->sweep, "big");
}

}  // namespace
}  // namespace gyre
