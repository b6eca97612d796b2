// Interventions at the end of a job: each is what the model would be if it were changed in earnest,
// and the model is afterwards what it was.

#include "trainer/intervention_evaluation.h"

#include <gmock/gmock.h>

#include <map>

#include "tests/trainer/collective/ranks_in_threads.h"
#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/made_job.h"
#include "tests/trainer/made_model.h"
#include "trainer/config/intervention.h"

namespace gyre {
namespace {

using Points = std::map<std::string, double>;

Intervention Pairs(const char* kind, int first, int end, std::vector<int> layers = {}) {
  const std::string name =
      std::string(kind) + "-" + std::to_string(first) + "-" + std::to_string(end);
  return {.name = name,
          .kind = kind,
          .layers = std::move(layers),
          .pairs = {first, end},
          .position = {}};
}

Intervention Other(const std::string& name, const EncodingConfig& encoding) {
  Intervention other{.name = name, .kind = kPosition, .layers = {}, .position = {}};
  other.position.common = encoding;
  return other;
}

class InterventionEvaluationTest : public TemporaryHomeTest {
 protected:
  InterventionEvaluationTest() {
    job_.config.train.tokens = 10 * 64;
    job_.config.model.num_hidden_layers = 2;
    job_.config.evaluate.tasks = {
        {.name = "copy", .task = "copy", .distances = {}, .rows = 3, .offset = 2}};
  }

  RecordingObserver Run(const TrainerJob& job, const std::string& resume_from = "") {
    RecordingObserver observer;
    TrainControl control;
    const auto outcome = Train(job, {home_, resume_from, 1}, observer, control);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return observer;
  }
  // What the last step says.
  static Points End(const RecordingObserver& observer) {
    Points points;
    for (const PointValue& point : observer.points) {
      if (point.step == observer.points.back().step) points[point.metric] = point.value;
    }
    return points;
  }
  // Only evaluates the weights.
  TrainerJob Evaluating(const std::string& weights) {
    TrainerJob job = job_;
    job.config.train.init_from = "checkpoint:1";
    job.config.train.tokens = 0;
    job.initial_weights = weights;
    return job;
  }

  TrainerJob job_ = MakeJob(home_);
};

TEST_F(InterventionEvaluationTest, EachIsTheModelThatItNames) {
  const std::string weights = Run(job_).checkpoints.back().hash;
  EncodingConfig nope, theta, truncated;
  nope.type = "nope";
  theta.theta = 50;
  truncated.p = 0.5;
  TrainerJob job = Evaluating(weights);
  job.config.evaluate.interventions = {Other("nope", nope), Other("theta-50", theta),
                                       Pairs(kFreeze, 1, 2), Pairs(kFreeze, 0, 2)};
  const RecordingObserver observer = Run(job);
  EXPECT_TRUE(observer.checkpoints.empty());
  const Points points = End(observer);
  const auto really = [&](const EncodingConfig& encoding) {
    TrainerJob other = Evaluating(weights);
    other.config.position.common = encoding;
    return End(Run(other));
  };
  const auto expect_same = [&](const std::string& name, const Points& changed) {
    EXPECT_EQ(points.at("held/loss_sample/" + name), changed.at("held/loss_sample")) << name;
    EXPECT_EQ(points.at("held/loss_change/" + name),
              changed.at("held/loss_sample") - points.at("held/loss_sample"))
        << name;
    EXPECT_EQ(points.at("copy/accuracy/" + name), changed.at("copy/accuracy")) << name;
    EXPECT_EQ(points.at("copy/loss_change/" + name),
              changed.at("copy/loss") - points.at("copy/loss"))
        << name;
    EXPECT_NE(points.at("held/loss_change/" + name), 0) << name;
  };
  expect_same("nope", really(nope));
  expect_same("theta-50", really(theta));
  expect_same("freeze-1-2", really(truncated));
  EXPECT_EQ(points.at("held/loss_sample/freeze-0-2"), points.at("held/loss_sample/nope"));
}

TEST_F(InterventionEvaluationTest, TheModelStaysAsItWas) {
  const RecordingObserver plain = Run(job_);
  job_.config.evaluate.interventions = {Pairs(kZero, 0, 1), Pairs(kZero, 0, 2, {1}),
                                        Pairs(kFreeze, 0, 2)};
  const RecordingObserver changed = Run(job_);
  EXPECT_EQ(changed.checkpoints.back().hash, plain.checkpoints.back().hash);
  Points points = End(changed);
  for (const auto& [metric, value] : End(plain)) {
    EXPECT_EQ(points.at(metric), value) << metric;
    points.erase(metric);
  }
  EXPECT_EQ(points.size(), 3u * 5);
}

// A layer without queries sees all keys alike, whatever its rotation.
TEST_F(InterventionEvaluationTest, WithoutQueriesThereIsNoPosition) {
  const std::string weights = Run(job_).checkpoints.back().hash;
  TrainerJob job = Evaluating(weights);
  job.config.evaluate.interventions = {Pairs(kZero, 0, 2)};
  const double rope = End(Run(job)).at("held/loss_sample/zero-0-2");
  job.config.position.common.type = "nope";
  EXPECT_EQ(End(Run(job)).at("held/loss_sample/zero-0-2"), rope);
}

// Before the training, not after it.
TEST_F(InterventionEvaluationTest, WhatTheModelDoesNotHaveIsRefusedAtOnce) {
  job_.config.evaluate.interventions = {Pairs(kZero, 0, 1, {2})};
  RecordingObserver observer;
  TrainControl control;
  const auto outcome = Train(job_, {home_, "", 1}, observer, control);
  EXPECT_EQ(outcome.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(outcome.status().message(), testing::HasSubstr("zero-0-1: there is no layer 2"));
  EXPECT_TRUE(observer.points.empty());
}

TEST_F(InterventionEvaluationTest, RanksAgree) {
  job_.config.evaluate.interventions = {Pairs(kZero, 0, 1), Pairs(kFreeze, 0, 2)};
  const Points alone = End(Run(job_));
  std::vector<RecordingObserver> observers(2);
  RunRanks("threads", 2, {}, [&](auto communicator) {
    TrainControl control;
    const TrainOptions options{home_, "", 1, kDefaultBackend, communicator.get()};
    const auto outcome =
        Train(job_, options, observers[static_cast<size_t>(communicator->rank())], control);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
  });
  const Points ranks = End(observers[0]);
  ASSERT_EQ(ranks.size(), alone.size());
  for (const auto& [metric, value] : alone) EXPECT_NEAR(ranks.at(metric), value, 1e-4) << metric;
  EXPECT_TRUE(observers[1].points.empty());
}

TEST_F(InterventionEvaluationTest, ItStopsBetweenTwoAndSaysTheSameAgain) {
  job_.config.evaluate.interventions = {Pairs(kZero, 0, 1), Pairs(kZero, 1, 2)};
  const Points whole = End(Run(job_));
  RecordingObserver observer;
  TrainControl control;
  observer.on_point = [&control](const PointValue& point) {
    if (point.metric == "held/loss_change/zero-0-1") control.stop = true;
  };
  const auto outcome = Train(job_, {home_, "", 1}, observer, control);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_TRUE(outcome->stopped);
  EXPECT_EQ(End(observer).count("held/loss_change/zero-1-2"), 0u);
  ASSERT_FALSE(observer.checkpoints.empty());
  EXPECT_FALSE(observer.checkpoints.back().weights_only);
  Points resumed = End(observer);
  for (const auto& [metric, value] : End(Run(job_, observer.checkpoints.back().hash))) {
    resumed[metric] = value;
  }
  EXPECT_EQ(resumed, whole);
}

// c_k, what a pair supplies to a logit, is exactly 0; with a norm of queries, too.
TEST(WithInterventionTest, ZeroedPairsSupplyNothing) {
  for (const bool qk_norm : {false, true}) {
    JobConfig config;
    config.model = SmallModel();
    config.model.qk_norm = qk_norm;
    config.data.context = 16;
    MadeModel model(config.model);
    const Batch batch = RandomBatch(2, 16, config.model.vocab_size);
    const std::vector<int32_t> lengths(2, 16);
    std::vector<AttentionSums> before(2), during(2), after(2);
    ASSERT_TRUE(model->CollectAttention(batch, lengths, &before).ok());
    ASSERT_TRUE(WithIntervention(Pairs(kZero, 1, 2, {1}), config, 0, model.operator->(), [&] {
                  return model->CollectAttention(batch, lengths, &during);
                }).ok());
    ASSERT_TRUE(model->CollectAttention(batch, lengths, &after).ok());
    EXPECT_EQ(during[0].other_contributions, before[0].other_contributions);
    for (size_t i = 0; i < before[1].other_contributions.size(); ++i) {
      const double now = during[1].other_contributions[i];
      EXPECT_EQ(now, i % 2 == 1 ? 0 : before[1].other_contributions[i]);
    }
    EXPECT_EQ(after[1].other_contributions, before[1].other_contributions);
  }
}

TEST(WithInterventionTest, AFailureLeavesTheModelAsItWas) {
  JobConfig config;
  config.model = SmallModel();
  config.data.context = 16;
  MadeModel model(config.model);
  const Batch batch = RandomBatch(2, 16, config.model.vocab_size);
  std::vector<float> before(32), after(32);
  ASSERT_TRUE(model->Evaluate(batch, before).ok());
  const Status failed = WithIntervention(Pairs(kZero, 0, 2), config, 0, model.operator->(),
                                         [] { return Internal("this fails"); });
  EXPECT_EQ(failed.message(), "this fails");
  const Status refused = WithIntervention(Pairs(kZero, 0, 3), config, 0, model.operator->(),
                                          [] { return OkStatus(); });
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(model->Evaluate(batch, after).ok());
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace gyre
