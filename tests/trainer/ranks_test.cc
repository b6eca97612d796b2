// One job on several ranks: the same curve as on one within rounding, the same bits as on as many,
// and nobody waits for a rank that has stopped, failed or gone.

#include "trainer/ranks.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/trainer/collective/ranks_in_threads.h"
#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/made_job.h"

namespace gyre {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

struct RankRun {
  Result<TrainOutcome> outcome = Internal("not run");
  RecordingObserver observer;
  TrainControl control;
};
using Runs = std::vector<std::unique_ptr<RankRun>>;

// "metric step value" with every bit of the value.
std::vector<std::string> Lines(const RankRun& run, int64_t after_step = -1) {
  std::vector<std::string> lines;
  for (const PointValue& point : run.observer.points) {
    if (point.step <= after_step) continue;
    char value[64];
    std::snprintf(value, sizeof value, " %a", point.value);
    lines.push_back(point.metric + " " + std::to_string(point.step) + value);
  }
  return lines;
}

class RanksTest : public TemporaryHomeTest {
 protected:
  static Runs Prepare(int ranks) {
    Runs runs;
    for (int i = 0; i < ranks; ++i) runs.push_back(std::make_unique<RankRun>());
    return runs;
  }
  void Train(const TrainerJob& job, Runs& runs, const std::string& resume_from = "",
             const std::string& backend = kDefaultBackend) {
    RunRanks("threads", static_cast<int>(runs.size()), {}, [&](auto communicator) {
      RankRun& run = *runs[static_cast<size_t>(communicator->rank())];
      TrainOptions options{home_, resume_from, 1, backend, communicator.get()};
      run.outcome = gyre::Train(job, options, run.observer, run.control);
    });
  }
  Runs Train(const TrainerJob& job, int ranks, const std::string& resume_from = "",
             const std::string& backend = kDefaultBackend) {
    Runs runs = Prepare(ranks);
    Train(job, runs, resume_from, backend);
    for (const auto& run : runs) EXPECT_TRUE(run->outcome.ok()) << run->outcome.status();
    return runs;
  }
  TrainerJob Job() {
    TrainerJob job = MakeJob(home_);
    job.config.evaluate.contexts = {8, 32};
    job.config.evaluate.positions = {0, 8};
    job.config.evaluate.document_lengths = {0, 17};
    return job;
  }
};

void ExpectAgree(const RankRun& one, const RankRun& other, double tolerance) {
  ASSERT_EQ(one.observer.points.size(), other.observer.points.size());
  for (size_t i = 0; i < one.observer.points.size(); ++i) {
    const PointValue &a = one.observer.points[i], &b = other.observer.points[i];
    ASSERT_EQ(a.metric, b.metric);
    ASSERT_EQ(a.step, b.step);
    EXPECT_NEAR(a.value, b.value, tolerance * std::max(1.0, std::abs(a.value)))
        << a.metric << " at " << a.step;
  }
}

// huggingface/transformers#608, #34242: a mean over ranks of means weighs the targets of a rank
// with fewer rows more. With three ranks the four rows of a batch are shared out as 2, 1, 1.
TEST_F(RanksTest, AsManyAsThereAreTheyAgree) {
  const TrainerJob job = Job();
  const Runs one = Train(job, 1);
  for (const int ranks : {2, 3, 4}) {
    SCOPED_TRACE(ranks);
    ExpectAgree(*one[0], *Train(job, ranks)[0], 1e-5);
  }
}

// 5 windows, shared out as 2, 2, 1, and as 1, 1, 1, 1, 1, 0.
TEST_F(RanksTest, StatisticsAreOfTheWindowsOfAllRanks) {
  TrainerJob job = Job();
  job.config.train.tokens = 3 * 64;
  job.validation_datasets["held"] =
      MakeDataset(home_, {"defghabcabcdefghdd", "abcdef", "bcdefghabcdefghabcd"});
  job.config.statistics = {
      .every = 64, .sequences = 16, .collect = {kFrequencyNorms, kLogitShares, kHeadScores}};
  const auto flat = [](const RankRun& run) {
    Json all = Json::array();
    for (const StatisticsRecord& record : run.observer.statistics) all.push_back(ToJson(record));
    return all.flatten();
  };
  const Json one = flat(*Train(job, 1)[0]);
  for (const int ranks : {3, 6}) {
    const Runs runs = Train(job, ranks);
    const Json several = flat(*runs[0]);
    ASSERT_EQ(several.size(), one.size());
    for (const auto& [key, value] : one.items()) {
      if (!value.is_number()) continue;
      const double want = value.get<double>();
      EXPECT_NEAR(several[key].get<double>(), want, 1e-4 * std::max(0.01, std::abs(want))) << key;
    }
    EXPECT_TRUE(runs[1]->observer.statistics.empty());
  }
}

TEST_F(RanksTest, InTheReferenceTheyAgreeToo) {
  TrainerJob job = Job();
  job.config.train.tokens = 5 * 64;
  const Runs one = Train(job, 1, "", "reference");
  ExpectAgree(*one[0], *Train(job, 4, "", "reference")[0], 1e-5);
}

TEST_F(RanksTest, ARankWithoutARowTakesPart) {
  TrainerJob job = Job();
  job.config.train.tokens = 6 * 64;
  ExpectAgree(*Train(job, 1)[0], *Train(job, 6)[0], 1e-5);
}

TEST_F(RanksTest, AsManyRanksGiveTheSameBits) {
  const TrainerJob job = Job();
  const Runs once = Train(job, 3), again = Train(job, 3);
  EXPECT_EQ(Lines(*once[0]), Lines(*again[0]));
  EXPECT_EQ(once[0]->observer.checkpoints.back().hash, again[0]->observer.checkpoints.back().hash);
}

TEST_F(RanksTest, RankZeroAloneSpeaks) {
  TrainerJob job = Job();
  job.config.train.checkpoint_every = 4 * 64;
  const Runs runs = Train(job, 2);
  EXPECT_EQ(runs[0]->observer.checkpoints.size(), 5u);
  EXPECT_THAT(runs[1]->observer.points, IsEmpty());
  EXPECT_THAT(runs[1]->observer.checkpoints, IsEmpty());
  EXPECT_EQ(runs[1]->outcome->step, 20);
}

TEST_F(RanksTest, WhatOneIsToldAllDoAndTheRestGoesOnBitForBit) {
  TrainerJob job = Job();
  const Runs whole = Train(job, 2);
  for (const size_t told : {0, 1}) {
    SCOPED_TRACE(told);
    Runs runs = Prepare(2);
    runs[0]->observer.on_point = [&](const PointValue& point) {
      if (point.metric == "train/loss" && point.step == 7) runs[told]->control.stop = true;
    };
    Train(job, runs);
    for (const auto& run : runs) {
      ASSERT_TRUE(run->outcome.ok()) << run->outcome.status();
      EXPECT_TRUE(run->outcome->stopped);
      EXPECT_EQ(run->outcome->step, runs[0]->outcome->step);
    }
    ASSERT_EQ(runs[0]->observer.checkpoints.size(), 1u);
    const CheckpointInfo checkpoint = runs[0]->observer.checkpoints[0];
    EXPECT_THAT(checkpoint.step, testing::AllOf(testing::Ge(7), testing::Le(9)));
    const Runs rest = Train(job, 2, checkpoint.hash);
    EXPECT_EQ(Lines(*rest[0]), Lines(*whole[0], checkpoint.step));
    EXPECT_EQ(rest[0]->observer.checkpoints.back().hash,
              whole[0]->observer.checkpoints.back().hash);
  }
}

TEST_F(RanksTest, ACheckpointThatOneIsAskedForIsWrittenByRankZero) {
  Runs runs = Prepare(2);
  runs[1]->control.checkpoint = true;
  Train(Job(), runs);
  ASSERT_TRUE(runs[0]->outcome.ok()) << runs[0]->outcome.status();
  ASSERT_EQ(runs[0]->observer.checkpoints.size(), 2u);
  EXPECT_EQ(runs[0]->observer.checkpoints[0].step, 1);
}

TEST_F(RanksTest, TheyDivergeTogether) {
  TrainerJob job = Job();
  job.config.train.optimizer.lr = 1e30;
  job.config.train.optimizer.clip_norm = 0;
  const Runs runs = Train(job, 3);
  ASSERT_TRUE(runs[0]->outcome->diverged_at_step.has_value());
  for (const auto& run : runs) {
    EXPECT_EQ(run->outcome->diverged_at_step, runs[0]->outcome->diverged_at_step);
  }
}

// A checkpoint says nothing about ranks: a job may go on with more or fewer.
TEST_F(RanksTest, ACheckpointOfTwoRanksServesFour) {
  TrainerJob job = Job();
  job.config.train.checkpoint_every = 10 * 64;
  const Runs two = Train(job, 2);
  const Runs four = Train(job, 4, two[0]->observer.checkpoints[0].hash);
  const auto whole = two[0]->observer.Curve("train/loss"),
             rest = four[0]->observer.Curve("train/loss");
  ASSERT_EQ(rest.size(), 10u);
  for (size_t i = 0; i < rest.size(); ++i) EXPECT_NEAR(rest[i].second, whole[10 + i].second, 1e-3);
}

TEST_F(RanksTest, ARankThatFailsEndsTheOthersWithItsReason) {
  const TrainerJob job = Job();
  Runs runs = Prepare(3);
  RunRanks("threads", 3, {}, [&](auto communicator) {
    RankRun& run = *runs[static_cast<size_t>(communicator->rank())];
    TrainOptions options{home_, "", 1, kDefaultBackend, communicator.get()};
    if (communicator->rank() == 2) options.home = home_ / "elsewhere";
    run.outcome = gyre::Train(job, options, run.observer, run.control);
  });
  EXPECT_EQ(runs[2]->outcome.status().code(), StatusCode::kNotFound);
  for (const size_t rank : {0, 1}) {
    const Status status = runs[rank]->outcome.status();
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_THAT(status.message(), HasSubstr("rank 2 has left: NOT_FOUND: "));
  }
}

TEST_F(RanksTest, TheFingerprintSaysHowMany) {
  EXPECT_EQ(Fingerprint("cpu", 1, 4)["ranks"], 4);
  EXPECT_FALSE(Fingerprint("cpu", 1, 1).contains("ranks"));
}

TEST(RankShares, AreInOrderAndDifferByOneAtMost) {
  for (const int64_t count : {0, 1, 3, 4, 5, 17}) {
    for (const int ranks : {1, 2, 3, 4, 7}) {
      auto communicators = ThreadCommunicators(ranks, kTestTimeout);
      int64_t end = 0, least = count, most = 0;
      for (const auto& communicator : communicators) {
        const Ranks::Share share = Ranks(communicator.get()).ShareOf(count);
        EXPECT_EQ(share.begin, end);
        end = share.end;
        least = std::min(least, share.size());
        most = std::max(most, share.size());
      }
      EXPECT_EQ(end, count);
      EXPECT_LE(most - least, 1);
    }
  }
}

}  // namespace
}  // namespace gyre
