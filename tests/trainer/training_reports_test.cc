// Faults of training loops that users of other trainers have reported in public, held against this
// one.

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <set>

#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/made_job.h"
#include "trainer/data/batches.h"

namespace gyre {
namespace {

class TrainingReports : public TemporaryHomeTest {
 protected:
  Result<TrainOutcome> Run(const TrainerJob& job, RecordingObserver* observer,
                           const std::string& resume_from = "") {
    TrainControl control;
    return Train(job, {home_, resume_from, 1}, *observer, control);
  }
};

// karpathy/llm.c#792, jzhang38/TinyLlama#67: each rank shuffled with a seed of its own, so that
// ranks saw some samples twice and others never. Over an epoch, the ranks' rows are every token
// once, whatever their number; the next epoch has another order.
TEST_F(TrainingReports, RanksSeeEveryTokenOfAnEpochOnce) {
  std::vector<std::string> documents;
  int next = 1;
  for (const int length : {11, 3, 40, 7, 1, 34}) {  // 96 characters, all different
    documents.emplace_back();
    for (int i = 0; i < length; ++i) documents.back() += static_cast<char>(next++);
  }
  const auto dataset = Dataset::Open(home_, MakeDataset(home_, documents));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  constexpr int kRows = 6, kContext = 4, kStepsOfAnEpoch = 96 / (kRows * kContext);
  for (const int ranks : {1, 2, 3, 6}) {
    std::map<int, std::vector<int32_t>> of_epoch;
    for (int rank = 0; rank < ranks; ++rank) {
      auto batches = Batches::Create({{&*dataset}}, kContext, "documents", kRows * kContext, 42);
      ASSERT_TRUE(batches.ok()) << batches.status();
      for (int64_t step = 1; step <= 2 * kStepsOfAnEpoch; ++step) {
        Batch own;
        ASSERT_TRUE(batches->Fill(step, rank * kRows / ranks, kRows / ranks, &own).ok());
        std::vector<int32_t>& seen = of_epoch[static_cast<int>((step - 1) / kStepsOfAnEpoch)];
        seen.insert(seen.end(), own.targets.begin(), own.targets.end());
      }
    }
    EXPECT_NE(of_epoch[0], of_epoch[1]);
    std::vector<int32_t> all(96);
    for (int i = 0; i < 96; ++i) all[static_cast<size_t>(i)] = i + 1;
    for (const auto& [epoch, seen] : of_epoch) {
      EXPECT_THAT(seen, testing::UnorderedElementsAreArray(all)) << ranks << " ranks, " << epoch;
    }
  }
}

// huggingface/transformers#41898: the loss of an evaluation was the mean of its batches' means, and
// the last batch is smaller. It is the sum of all tokens over their number, however batched.
TEST_F(TrainingReports, ASmallerLastBatchCountsByItsTokens) {
  const std::vector<std::string> documents = {"abcdefghabcdefgh", "hgfedcbahgfedcba", "aa"};
  TrainerJob job = MakeJob(home_);
  job.config.evaluate.tokens = 1000;  // all of each set
  job.validation_datasets.clear();
  for (const std::string& document : documents) {
    job.validation_datasets["only " + document] = MakeDataset(home_, {document});
  }
  job.validation_datasets["all"] = MakeDataset(home_, documents);
  for (const int micro_batch : {1, 2, 3}) {  // at 2, the last batch has the short document alone
    job.config.train.micro_batch = micro_batch;
    RecordingObserver observer;
    ASSERT_TRUE(Run(job, &observer).ok());
    for (const char* metric : {"/loss_sample", "/loss"}) {
      const auto last = [&](const std::string& set) {
        return observer.Curve(set + metric).back().second;
      };
      double nats = 0, characters = 0, means = 0;
      for (const std::string& document : documents) {
        nats += last("only " + document) * static_cast<double>(document.size());
        characters += static_cast<double>(document.size());
        means += last("only " + document) / 3;
      }
      EXPECT_NEAR(last("all"), nats / characters, 1e-6) << metric << micro_batch;
      EXPECT_GT(std::abs(last("all") - means), 1e-3) << "the test sees no difference";
    }
  }
}

// huggingface/transformers#48630: a share of rotated coordinates other than 1 crashed.
// AI-Hypercomputer/maxtext#4616: on one of two paths it was ignored. Every share that a head of 4
// can have, on every path: training, a layer of its own, evaluation at other contexts. And each
// gives a curve of its own.
TEST_F(TrainingReports, EveryShareTrainsAndMakesADifference) {
  TrainerJob job = MakeJob(home_);
  job.config.train.tokens = 4 * 64;
  job.config.model.num_hidden_layers = 2;
  job.config.evaluate.contexts = {8, 20};
  std::set<std::string> curves;
  int jobs = 0;
  const auto train = [&](const PositionConfig& position) {
    job.config.position = position;
    RecordingObserver observer;
    const auto outcome = Run(job, &observer);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    std::string curve;
    for (const PointValue& point : observer.points) curve += std::to_string(point.value) + " ";
    curves.insert(curve);
    ++jobs;
  };
  // Of two pairs: none, the fast one, both; the slow one; spaced anew, the first of half as many.
  for (const double p : {0.0, 0.5, 1.0})
    train({.common = {.p = p}, .layers = {}, .windows = {}, .switches = {}});
  train({.common = {.p = 0.5, .keep = "low"}, .layers = {}, .windows = {}, .switches = {}});
  train({.common = {}, .layers = {{.p = 0.5}, {.p = 1}}, .windows = {}, .switches = {}});
  train({.common = {}, .layers = {{.p = 1}, {.p = 0.5}}, .windows = {}, .switches = {}});
  train({.common = {.p = 0.5, .pairing = "interleaved"},
         .layers = {},
         .windows = {},
         .switches = {}});
  EXPECT_EQ(curves.size(), static_cast<size_t>(jobs));
}

// karpathy/nanoGPT#215: the loss was nan from some step on, and training went on for days. Here it
// ends at that step and says which, also in the attempt that resumes from before it; no weights are
// left that look like a result, and the last checkpoint is from before.
TEST_F(TrainingReports, NotANumberEndsTheJobAtItsStep) {
  TrainerJob job = MakeJob(home_);
  job.config.train.checkpoint_every = 64;
  job.config.train.optimizer.lr = 1e17;
  job.config.train.optimizer.clip_norm = 0;
  job.config.train.schedule.warmup_tokens = job.config.train.tokens;
  job.config.train.schedule.name = "constant";
  RecordingObserver whole;
  const auto outcome = Run(job, &whole);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ASSERT_TRUE(outcome->diverged_at_step.has_value());
  const int64_t at = *outcome->diverged_at_step;
  ASSERT_GT(at, 1) << "the test wants finite steps before";
  EXPECT_EQ(outcome->step, at);
  bool said = false;
  for (const PointValue& point : whole.points) {
    EXPECT_LE(point.step, at);
    const bool finite = std::isfinite(point.value);
    EXPECT_TRUE(finite || point.step == at) << point.metric << " " << point.step;
    said |= !finite;
  }
  EXPECT_TRUE(said);
  ASSERT_EQ(whole.checkpoints.size(), static_cast<size_t>(at - 1));
  for (const CheckpointInfo& checkpoint : whole.checkpoints) EXPECT_FALSE(checkpoint.weights_only);

  RecordingObserver resumed;
  const auto again = Run(job, &resumed, whole.checkpoints.back().hash);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->diverged_at_step, outcome->diverged_at_step);
  EXPECT_TRUE(resumed.checkpoints.empty());
}

}  // namespace
}  // namespace gyre
