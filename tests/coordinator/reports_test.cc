// What users of other systems reported, as it has to be here. Reports that another test shows are
// named there.

#include <gmock/gmock.h>

#include <atomic>
#include <set>
#include <thread>

#include "coordinator/commit_loop.h"
#include "tests/coordinator/harness.h"

namespace gyre {
namespace {

using testing::ElementsAre;

class ReportsTest : public CoordinatorTest {
 protected:
  LeaseReply Take(const std::string& incarnation) {
    const auto lease = Acquire(incarnation);
    EXPECT_TRUE(lease.ok()) << lease.status();
    return lease.ok() && *lease ? **lease : LeaseReply{};
  }
  void Train(const LeaseReply& lease, const std::string& incarnation) {
    const double value = static_cast<double>(lease.job_id);
    ASSERT_TRUE(Report(Ref(lease, incarnation), 1, {{"m", 1, 10, value}}).ok());
    ASSERT_TRUE(Finish(Ref(lease, incarnation), AttemptOutcome::kSucceeded, 1).ok());
  }
};

// wandb/wandb#4283, wandb/wandb#6594, wandb/wandb#1787: a grid that is resumed runs finished points
// again or misses others.
TEST_F(ReportsTest, AResumedSweepRunsExactlyWhatIsMissing) {
  ASSERT_TRUE(Submit(MakeSweep("s", 3, 4)).ok());
  ASSERT_TRUE(Register("w", "w1").ok());
  std::set<int64_t> trained;
  for (int i = 0; i < 5; ++i) {
    const LeaseReply lease = Take("w1");
    Train(lease, "w1");
    trained.insert(lease.job_id);
  }
  const std::string points = Sql("SELECT * FROM points ORDER BY job_id");
  ASSERT_TRUE(Get<int>([&](const Moment& at) { return coordinator_->CancelSweep("s", at); }).ok());
  Restart();
  ASSERT_TRUE(Register("w", "w2").ok());
  EXPECT_EQ(Submit(MakeSweep("s", 3, 4))->requeued, 7);
  for (int i = 0; i < 7; ++i) {
    const LeaseReply lease = Take("w2");
    EXPECT_TRUE(trained.insert(lease.job_id).second) << lease.job_id << " ran twice";
    Train(lease, "w2");
  }
  EXPECT_EQ(Take("w2").job_id, 0);
  EXPECT_EQ(Sql("SELECT * FROM points WHERE job_id <= 5 ORDER BY job_id"), points);
  EXPECT_EQ(Sql("SELECT count(*) FROM jobs WHERE state = 'SUCCEEDED'"), "12");
}

// wandb/wandb#3522, wandb/wandb#2611, wandb/wandb#5247: parallel agents run 442 points in place of
// 25, and begin anew after 500.
TEST_F(ReportsTest, ManyWorkersOfWhichSomeDieAcceptEachOfManyJobsOnce) {
  checks_invariants_ = false;  // once, at the end
  ASSERT_TRUE(Submit(MakeSweep("s", 5, 121)).ok());
  std::vector<std::string> incarnations;
  for (int w = 0; w < 8; ++w) {
    incarnations.push_back("w" + std::to_string(w) + "-0");
    ASSERT_TRUE(Register("w" + std::to_string(w), incarnations.back()).ok());
  }
  int taken = 0;
  for (bool any = true; any;) {
    any = false;
    for (size_t w = 0; w < incarnations.size(); ++w) {
      const LeaseReply lease = Take(incarnations[w]);
      if (lease.job_id == 0) continue;
      any = true;
      if (++taken % 7 == 0) {  // it dies with its job and comes back
        const std::string before = incarnations[w];
        incarnations[w] = "w" + std::to_string(w) + "-" + std::to_string(taken);
        ASSERT_TRUE(Register("w" + std::to_string(w), incarnations[w]).ok());
        EXPECT_EQ(Finish(Ref(lease, before), AttemptOutcome::kSucceeded).status().code(),
                  StatusCode::kFailedPrecondition);
      } else {
        Train(lease, incarnations[w]);
      }
    }
  }
  EXPECT_EQ(Sql("SELECT state, count(*) FROM jobs GROUP BY state"), "SUCCEEDED|605");
  EXPECT_EQ(Sql("SELECT max(n) FROM (SELECT count(*) AS n FROM attempts WHERE state = 'SUCCEEDED' "
                "GROUP BY job_id)"),
            "1");
  EXPECT_EQ(Sql("SELECT count(*) FROM points"), "605");
  EXPECT_TRUE(coordinator_->CheckInvariants().ok());
}

// dask/distributed#6324, dask/distributed#4150: a long step misses heartbeats, and the worker is
// killed. Heartbeats come from a thread that does not compute, and say no more than that it lives.
TEST_F(ReportsTest, AStepThatTakesAMinuteKeepsItsLease) {
  ASSERT_TRUE(Submit(MakeSweep("s", 1, 1)).ok());
  ASSERT_TRUE(Register("w", "w1").ok());
  const LeaseReply lease = Take("w1");
  for (int second = 0; second < 60; second += 3) {
    EXPECT_THAT(*Beat("w1", {{lease.job_id, 1, {.step = 1}}}),
                ElementsAre(WorkerDesire::kContinue));
    Advance(Millis(3000));
  }
  EXPECT_EQ(Jobs(), "1|RUNNING");
  EXPECT_TRUE(Report(Ref(lease, "w1"), 1, {{"m", 2, 20, 0.5}}).ok());
}

// optuna/optuna#4234, optuna/optuna#5470: a late `tell` on a trial that was given up crashes the
// process. G-Research/fasttrackml#54, mlflow/mlflow#20715, ludwig-ai/ludwig#3670: what is sent again
// is an error or doubles rows.
TEST_F(ReportsTest, ALateReportIsToldThatItIsLateAndChangesNothing) {
  ASSERT_TRUE(Submit(MakeSweep("s", 1, 1)).ok());
  ASSERT_TRUE(Register("w", "w1").ok());
  ASSERT_TRUE(Register("v", "v1").ok());
  const LeaseReply late = Take("w1");
  LoseAll();
  const LeaseReply now = Take("v1");
  EXPECT_EQ(now.attempt, 2);
  ASSERT_TRUE(Report(Ref(now, "v1"), 1, {{"m", 1, 10, 2.0}}).ok());
  ASSERT_TRUE(Report(Ref(now, "v1"), 1, {{"m", 1, 10, 2.0}}).ok());
  for (const Status& status : {Report(Ref(late, "w1"), 1, {{"m", 1, 10, 1.0}}).status(),
                               Save(Ref(late, "w1"), 1, "hash").status(),
                               Finish(Ref(late, "w1"), AttemptOutcome::kSucceeded, 0).status()}) {
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.message(), testing::HasSubstr("the job is RUNNING, its latest attempt 2"));
  }
  EXPECT_EQ(Sql("SELECT job_id, metric, step, value, attempt FROM points"), "1|m|1|2.0|2");
  EXPECT_EQ(Sql("SELECT count(*) FROM events WHERE kind = 'stale_call_refused'"), "3");
}

// optuna/optuna#820, optuna/optuna-dashboard#545: "database is locked" with 32 writers or a reader.
// It4innovations/hyperqueue#890: heartbeats that nobody processes while reports flood in.
TEST_F(ReportsTest, ManyWritersAndReadersAndHeartbeatsBetweenThem) {
  constexpr int kWriters = 32, kBatches = 20;
  checks_invariants_ = false;
  now_ = Clock::Real().Now();  // as the loop has it
  ASSERT_TRUE(Submit(MakeSweep("s", 4, 8)).ok());
  ASSERT_TRUE(Register("w", "w1", kWriters).ok());
  std::vector<LeaseReply> leases;
  HeartbeatCall beat{"w1", {}};
  for (int i = 0; i < kWriters; ++i) {
    leases.push_back(Take("w1"));
    beat.held.push_back({leases.back().job_id, 1, {.step = 1}, leases.back().epoch});
  }
  std::atomic<int> failed{0}, beats{0};
  std::atomic<bool> done{false};
  {
    CommitLoop loop(*coordinator_, Clock::Real());
    std::vector<std::jthread> writers, readers;
    for (const LeaseReply& lease : leases) {
      writers.emplace_back([&, lease] {
        for (int64_t batch = 1; batch <= kBatches; ++batch) {
          const ReportPointsCall call{
              Ref(lease, "w1"), batch, {{"m", batch, batch, 1.0}}, "cpu", {}};
          const Status status = loop.Do(
              [&](const Moment& at) { return coordinator_->ReportPoints(call, at).status(); });
          if (!status.ok()) ++failed;
        }
      });
    }
    readers.emplace_back([&] {
      while (!done) {
        const Status status =
            loop.Do([&](const Moment& at) { return coordinator_->Heartbeat(beat, at).status(); });
        ++(status.ok() ? beats : failed);
      }
    });
    for (int i = 0; i < 2; ++i) {
      readers.emplace_back([&] {
        while (!done) {
          auto database = Database::OpenReadOnly(path_);
          auto rows = database.ok() ? database->Prepare("SELECT count(*) FROM points")
                                    : Result<Statement>(database.status());
          if (!rows.ok() || !rows->Step().ok()) ++failed;
        }
      });
    }
    writers.clear();  // joins
    done = true;
    readers.clear();
  }
  EXPECT_EQ(failed, 0);
  EXPECT_GT(beats, 10);
  EXPECT_EQ(Sql("SELECT count(*) FROM points"), std::to_string(kWriters * kBatches));
}

}  // namespace
}  // namespace gyre
