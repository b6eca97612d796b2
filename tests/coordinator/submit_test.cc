// Submitting again, reusing, replacing, canceling; and what a restart keeps.

#include <gmock/gmock.h>

#include "coordinator/store/model_results.h"
#include "tests/coordinator/harness.h"

namespace gyre {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Submitting : public CoordinatorTest {
 protected:
  void RunAll() {
    const Status worker = registered_ ? OkStatus() : Register("w", "w1");
    ASSERT_TRUE(worker.ok()) << worker;
    registered_ = true;
    while (true) {
      auto lease = Acquire("w1");
      ASSERT_TRUE(lease.ok()) << lease.status();
      if (!*lease) return;
      ASSERT_TRUE(Report(Ref(**lease, "w1"), 1, {{"m", 1, 10, 1.0 * (*lease)->job_id}}).ok());
      ASSERT_TRUE(Finish(Ref(**lease, "w1"), AttemptOutcome::kSucceeded, 1).ok());
      ++trained_;
    }
  }
  bool registered_ = false;
  int trained_ = 0;
};

TEST_F(Submitting, TheSameContentAttaches) {
  const auto first = Submit(MakeSweep("s", 2, 2));
  const auto again = Submit(MakeSweep("s", 2, 2));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->attached);
  EXPECT_EQ(again->id, first->id);
  EXPECT_EQ(again->finished, 0);
  RunAll();
  EXPECT_EQ(trained_, 4);
  EXPECT_EQ(Submit(MakeSweep("s", 2, 2))->finished, 4);
  EXPECT_EQ(Sql("SELECT count(*) FROM jobs"), "4");
}

TEST_F(Submitting, OtherContentIsRefusedUnlessItReplaces) {
  ASSERT_TRUE(Submit(MakeSweep("s", 1, 2)).ok());
  const auto refused = Submit(MakeSweep("s", 1, 3));
  EXPECT_EQ(refused.status().code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(refused.status().message(), HasSubstr("--replace"));
  EXPECT_EQ(Sql("SELECT count(*) FROM jobs"), "2");

  const auto replaced = Submit(MakeSweep("s", 1, 3), /*replace=*/true);
  ASSERT_TRUE(replaced.ok()) << replaced.status();
  EXPECT_FALSE(replaced->attached);
  EXPECT_EQ(replaced->replaced, "s@1");
  EXPECT_EQ(Sql("SELECT id, name, intent FROM sweeps"), "1|s@1|CANCELED; 2|s|ACTIVE");
  EXPECT_EQ(Sweep("s").jobs.queued, 3);
  EXPECT_EQ(Sweep("s@1").jobs.canceled, 2);
}

// Views and plots know both by their names.
TEST_F(Submitting, TheNameOfAModelThatWasAnalysedIsTaken) {
  const ModelResults model{.model = {.name = "llama", .variant = "text"}};
  const Status written = WriteModelResults(path_, model, Millis(0), /*replace=*/false);
  ASSERT_TRUE(written.ok()) << written;
  for (const bool replace : {false, true}) {
    const auto refused = Submit(MakeSweep("llama", 1, 1), replace);
    EXPECT_EQ(refused.status().code(), StatusCode::kAlreadyExists);
    EXPECT_THAT(refused.status().message(), HasSubstr("is called 'llama'"));
  }
  EXPECT_EQ(Sql("SELECT count(*) FROM sweeps"), "0");
  EXPECT_TRUE(Submit(MakeSweep("text", 1, 1)).ok());
}

TEST_F(Submitting, FinishedJobsOfAnySweepAreReused) {
  ASSERT_TRUE(Submit(MakeSweep("s", 2, 2)).ok());
  RunAll();
  const auto wider = Submit(MakeSweep("t", 2, 3));  // keys of seeds 0 and 1 are the same
  ASSERT_TRUE(wider.ok());
  EXPECT_EQ(wider->jobs, 6);
  EXPECT_EQ(wider->reused, 4);
  EXPECT_EQ(wider->finished, 4);
  RunAll();
  EXPECT_EQ(trained_, 6);
  EXPECT_EQ(Sql("SELECT variant, n, mean FROM comparison WHERE sweep = 't'"),
            "a|3|" + Sql("SELECT (1 + 3 + 9) / 3.0") + "; b|3|" + Sql("SELECT (2 + 4 + 10) / 3.0"));
  // A third one reuses the originals, not the rows that reuse them.
  ASSERT_EQ(Submit(MakeSweep("u", 2, 3))->finished, 6);
  EXPECT_EQ(Sql("SELECT reused_from FROM jobs WHERE sweep_id = 3"), "1; 2; 3; 4; 9; 10");
  EXPECT_EQ(Sql("SELECT kind FROM events ORDER BY id DESC LIMIT 1"), "sweep_finished");
}

TEST_F(Submitting, FreshRunsAnew) {
  ASSERT_TRUE(Submit(MakeSweep("s", 1, 1)).ok());
  EXPECT_TRUE(
      Submit(MakeSweep("s", 1, 1), false, /*fresh=*/true)->attached);  // nothing has finished yet
  RunAll();
  const auto fresh = Submit(MakeSweep("s", 1, 1), false, /*fresh=*/true);
  ASSERT_TRUE(fresh.ok()) << fresh.status();
  EXPECT_FALSE(fresh->attached);
  EXPECT_EQ(fresh->reused, 0);
  EXPECT_EQ(fresh->replaced, "s@1");
  RunAll();
  EXPECT_EQ(trained_, 2);
}

TEST_F(Submitting, TwinsFollowTheirOrigin) {
  PreparedSweep sweep = MakeSweep("s", 3, 1);
  sweep.jobs[1].twin_of = 0;
  sweep.jobs[2].twin_of = 1;  // of a twin: the origin counts
  const auto submitted = Submit(sweep);
  ASSERT_TRUE(submitted.ok());
  EXPECT_EQ(submitted->reused, 2);
  EXPECT_EQ(Sql("SELECT id, state, reused_from FROM jobs"),
            "1|QUEUED|NULL; 2|QUEUED|1; 3|QUEUED|1");
  ASSERT_TRUE(Register("w", "w1").ok());
  registered_ = true;
  ASSERT_TRUE(Acquire("w1")->has_value());
  EXPECT_EQ(Jobs(), "1|RUNNING; 2|RUNNING; 3|RUNNING");
  ASSERT_TRUE(Finish({1, 1, "w1"}, AttemptOutcome::kFailed, 0, "no", "INVALID_ARGUMENT").ok());
  EXPECT_EQ(Sql("SELECT state, error FROM jobs"), "FAILED|no; FAILED|no; FAILED|no");
  EXPECT_EQ(Sweep("s").failures.size(), 3u);
  EXPECT_EQ(Submit(sweep)->requeued, 3);
  RunAll();
  EXPECT_EQ(trained_, 1);
  EXPECT_EQ(Jobs(), "1|SUCCEEDED; 2|SUCCEEDED; 3|SUCCEEDED");
  EXPECT_EQ(Sql("SELECT variant, value FROM final"), "a|1.0; b|1.0; c|1.0");
  EXPECT_EQ(Sweep("s").tokens_budget, 1000);
}

TEST_F(Submitting, AllOfAFileOrNothing) {
  ASSERT_TRUE(Submit(MakeSweep("taken", 1, 1)).ok());
  PreparedSubmission both;
  both.sweeps = {MakeSweep("new", 1, 1), MakeSweep("taken", 1, 2)};
  const auto refused = Get<std::vector<SubmitReply>>(
      [&](const Moment& at) { return coordinator_->Submit(both, at); });
  EXPECT_EQ(refused.status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(Sql("SELECT name FROM sweeps"), "taken");
}

TEST_F(Submitting, CancelEndsQueuedJobsAtOnceAndRunningOnesWhenTheyHaveStopped) {
  ASSERT_TRUE(Submit(MakeSweep("s", 1, 3)).ok());
  ASSERT_TRUE(Register("w", "w1").ok());
  const LeaseReply lease = **Acquire("w1");
  const auto cancel = [&](const std::string& name) {
    return Get<int>([&](const Moment& at) { return coordinator_->CancelSweep(name, at); });
  };
  EXPECT_EQ(*cancel("s"), 3);
  EXPECT_EQ(Jobs(), "1|RUNNING; 2|CANCELED; 3|CANCELED");
  EXPECT_EQ(*cancel("s"), 0);
  EXPECT_FALSE(Acquire("w1")->has_value());
  EXPECT_THAT(*Beat("w1", {{1, 1, {}}}), ElementsAre(WorkerDesire::kStop));
  ASSERT_TRUE(Finish(Ref(lease, "w1"), AttemptOutcome::kStopped).ok());
  EXPECT_EQ(Jobs(), "1|CANCELED; 2|CANCELED; 3|CANCELED");
  EXPECT_EQ(Sql("SELECT kind FROM events ORDER BY id DESC LIMIT 1"), "sweep_finished");
  EXPECT_EQ(cancel("nothing").status().message(), "no sweep is called 'nothing'; there are: s");

  // Submitting again goes on.
  EXPECT_EQ(Submit(MakeSweep("s", 1, 3))->requeued, 3);
  registered_ = true;
  RunAll();
  EXPECT_EQ(trained_, 3);
  EXPECT_EQ(cancel("s").status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(Submitting, CancelOneJob) {
  PreparedSweep sweep = MakeSweep("s", 2, 1);
  sweep.jobs[1].twin_of = 0;
  ASSERT_TRUE(Submit(sweep).ok());
  const auto cancel = [&](int64_t job) {
    return Get<int>([&](const Moment& at) { return coordinator_->CancelJob(job, at); });
  };
  EXPECT_EQ(cancel(2).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(*cancel(1), 2);
  EXPECT_EQ(Jobs(), "1|CANCELED; 2|CANCELED");
  EXPECT_EQ(*cancel(1), 0);
  EXPECT_EQ(cancel(9).status().code(), StatusCode::kNotFound);
}

TEST_F(Submitting, ALostWorkersCanceledJobIsCanceled) {
  ASSERT_TRUE(Submit(MakeSweep("s", 1, 1)).ok());
  ASSERT_TRUE(Register("w", "w1").ok());
  ASSERT_TRUE(Acquire("w1")->has_value());
  ASSERT_TRUE(Get<int>([&](const Moment& at) { return coordinator_->CancelSweep("s", at); }).ok());
  LoseAll();
  EXPECT_EQ(Jobs(), "1|CANCELED");
}

TEST_F(Submitting, ARestartKeepsLeasesAndTheirWorkersGoOn) {
  ASSERT_TRUE(Submit(MakeSweep("s", 1, 2)).ok());
  ASSERT_TRUE(Register("w", "w1").ok());
  const LeaseReply lease = **Acquire("w1");
  ASSERT_TRUE(Report(Ref(lease, "w1"), 1, {{"m", 1, 10, 1}}).ok());
  Restart();
  // Longer than a lease, shorter than the first grace.
  Advance(Millis(20000));
  EXPECT_EQ(Jobs(), "1|RUNNING; 2|QUEUED");
  EXPECT_EQ(*Report(Ref(lease, "w1"), 1, {{"m", 1, 10, 77}}), 1);  // the answer had been lost
  EXPECT_EQ(*Report(Ref(lease, "w1"), 2, {{"m", 2, 20, 2}}), 2);
  EXPECT_THAT(*Beat("w1", {{1, 1, {}}}), ElementsAre(WorkerDesire::kContinue));
  Restart();
  ASSERT_TRUE(Finish(Ref(lease, "w1"), AttemptOutcome::kSucceeded, 2).ok());
  Restart();
  ASSERT_TRUE(Finish(Ref(lease, "w1"), AttemptOutcome::kSucceeded, 2).ok());
  EXPECT_EQ(Sql("SELECT step, value FROM points"), "1|1.0; 2|2.0");
  EXPECT_EQ(Jobs(), "1|SUCCEEDED; 2|QUEUED");
  EXPECT_EQ(Sweep("s").jobs.succeeded, 1);
}

// It4innovations/hyperqueue#764: a job that the other side does not know is waited for for ever.
// Here an attempt that nobody speaks for any more is over after a grace, and its job free.
TEST_F(Submitting, AfterARestartSilenceStillLoses) {
  ASSERT_TRUE(Submit(MakeSweep("s", 1, 1)).ok());
  ASSERT_TRUE(Register("w", "w1").ok());
  ASSERT_TRUE(Acquire("w1")->has_value());
  Restart();
  Advance(Timing().first_grace);
  Advance(Timing().suspect_grace - Millis(1));
  EXPECT_EQ(Jobs(), "1|RUNNING");
  Advance(Millis(1));
  EXPECT_EQ(Jobs(), "1|QUEUED");
  EXPECT_EQ(Sql("SELECT state FROM workers"), "GONE");
}

// ray-project/ray#20051, ray-project/ray#24259: what nobody can ever run is pending for ever.
TEST_F(Submitting, WhatNoWorkerCouldEverRunIsRefused) {
  const auto needs = [](const std::string& name, int cpus) {
    PreparedSweep sweep = MakeSweep(name, 1, 1);
    sweep.record.resources.cpus = cpus;
    return sweep;
  };
  EXPECT_TRUE(Submit(needs("before", 8)).ok()) << "workers may be about to start";
  ASSERT_TRUE(Register("big", "b1", 8).ok());
  ASSERT_TRUE(Register("small", "s1", 2).ok());
  ASSERT_TRUE(Beat("s1", {}).ok());
  EXPECT_TRUE(Submit(needs("fits", 8)).ok());
  const Status refused = Submit(needs("wide", 9)).status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.message(),
            "the sweep 'wide' would wait for ever: a job needs 9 cpus, and the largest worker has "
            "8; start a worker that can run it first, or ask for less");
  EXPECT_EQ(Sql("SELECT count(*) FROM sweeps WHERE name = 'wide'"), "0");

  for (int beat = 0; beat < 10; ++beat) {
    Advance(Millis(3000));
    ASSERT_TRUE(Beat("s1", {}).ok());
  }
  EXPECT_EQ(Sql("SELECT state FROM workers WHERE name = 'big'"), "GONE");
  EXPECT_TRUE(Submit(needs("again", 8)).ok()) << "it may come back";
  EXPECT_EQ(Submit(needs("again", 8))->attached, true);
}

TEST_F(Submitting, ARestartKeepsPausesAndStrikes) {
  ASSERT_TRUE(Submit(MakeSweep("s", 1, 1)).ok());
  ASSERT_TRUE(Register("w", "w1").ok());
  ASSERT_TRUE(Finish(Ref(**Acquire("w1"), "w1"), AttemptOutcome::kFailed, 0, "no").ok());
  Restart();
  EXPECT_FALSE(Acquire("w1")->has_value());
  Advance(Millis(10000));
  EXPECT_TRUE(Acquire("w1")->has_value());
  EXPECT_EQ(Sql("SELECT failures, attempt FROM jobs"), "1|2");
}

}  // namespace
}  // namespace gyre
