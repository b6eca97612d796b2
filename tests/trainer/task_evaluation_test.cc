// Accuracy of made-up tasks: what counts, and that it is what the logits say.

#include "trainer/task_evaluation.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "tests/trainer/collective/ranks_in_threads.h"
#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/made_job.h"
#include "tests/trainer/made_model.h"

namespace gyre {
namespace {

TEST(PredictTest, IsWhatTheLogitsAndTheLossSay) {
  MadeModel model(SmallModel());
  const Batch batch = RandomBatch(3, 16, SmallModel().vocab_size);
  std::vector<float> nll(48);
  ASSERT_TRUE(model->Evaluate(batch, nll).ok());
  const std::vector<int> places = {0, 1, 2, 7, 9, 10, 20, 47};
  const auto predictions = model->Predict(batch, places);
  ASSERT_TRUE(predictions.ok()) << predictions.status();
  const auto trace = model->Trace(batch, places);
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(predictions->size(), places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    const auto place = static_cast<size_t>(places[i]);
    EXPECT_NEAR((*predictions)[i].nll, nll[place], 1e-5);
    const auto& logits = trace->logits[i];
    const auto most = std::max_element(logits.begin(), logits.end()) - logits.begin();
    EXPECT_EQ((*predictions)[i].right, most == batch.targets[place]);
  }
}

TEST(PredictTest, TheMostLikelyTokenIsRight) {
  MadeModel model(SmallModel());
  Batch batch = RandomBatch(1, 16, SmallModel().vocab_size);
  const std::vector<int> places = {3, 4, 5};
  const auto trace = model->Trace(batch, places);
  ASSERT_TRUE(trace.ok());
  for (size_t i = 0; i < places.size(); ++i) {
    const auto& logits = trace->logits[i];
    batch.targets[static_cast<size_t>(places[i])] =
        static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }
  const auto predictions = model->Predict(batch, places);
  ASSERT_TRUE(predictions.ok());
  for (const Prediction& prediction : *predictions) EXPECT_TRUE(prediction.right);
}

TEST(PredictTest, OnlyPlacesWithATargetCount) {
  MadeModel model(SmallModel());
  Batch batch = RandomBatch(1, 16, SmallModel().vocab_size);
  batch.targets[5] = -1;
  for (const std::vector<int>& places : {std::vector{5}, std::vector{16}, std::vector{3, 3}}) {
    EXPECT_EQ(model->Predict(batch, places).status().code(), StatusCode::kInvalidArgument);
  }
}

class TaskEvaluationTest : public TemporaryHomeTest {
 protected:
  TaskEvaluationTest() {
    job_.config.train.tokens = 2 * 64;
    job_.config.data.context = 16;
    job_.config.evaluate.contexts = {16, 40};
    job_.config.evaluate.tasks = {
        {.name = "induction", .task = "induction", .distances = {1, 4, 16, 32}, .rows = 5},
        {.name = "self", .task = "self", .distances = {}, .rows = 3}};
  }
  std::map<std::string, double> End(const RecordingObserver& observer) {
    std::map<std::string, double> points;
    for (const PointValue& point : observer.points) points[point.metric] = point.value;
    return points;
  }
  TrainerJob job_ = MakeJob(home_);
};

TEST_F(TaskEvaluationTest, EveryContextHasTheBucketsItHasRoomFor) {
  RecordingObserver observer;
  TrainControl control;
  const auto outcome = Train(job_, {home_, "", 1}, observer, control);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  auto points = End(observer);
  double answers = 0;
  for (const char* bucket : {"/1-4", "/4-16"}) {
    answers += points.at(std::string("induction/answers") + bucket);
    EXPECT_EQ(points.at(std::string("induction/loss") + bucket),
              points.at(std::string("induction/loss@16") + bucket));
  }
  EXPECT_EQ(points.at("induction/answers"), answers);
  EXPECT_EQ(points.count("induction/answers/16-16"), 0u);
  EXPECT_GT(points.at("induction/answers@40/16-32"), 0);
  EXPECT_GT(points.at("induction/answers@40/32-40"), 0);
  EXPECT_EQ(points.at("self/answers"), 3 * 8);
  EXPECT_EQ(points.count("self/answers/1-2"), 0u);
  // A model that has seen two batches knows next to nothing.
  EXPECT_NEAR(points.at("induction/loss"), std::log(257), 0.5);
  const double right = points.at("induction/accuracy") * answers;
  EXPECT_NEAR(right, std::round(right), 1e-9);
}

TEST_F(TaskEvaluationTest, RanksAgree) {
  RecordingObserver alone;
  TrainControl control;
  ASSERT_TRUE(Train(job_, {home_, "", 1}, alone, control).ok());
  std::vector<RecordingObserver> observers(2);
  RunRanks("threads", 2, {}, [&](auto communicator) {
    TrainControl own;
    const TrainOptions options{home_, "", 1, kDefaultBackend, communicator.get()};
    EXPECT_TRUE(
        Train(job_, options, observers[static_cast<size_t>(communicator->rank())], own).ok());
  });
  const auto expected = End(alone), points = End(observers[0]);
  ASSERT_EQ(points.size(), expected.size());
  for (const auto& [metric, value] : expected) {
    const bool counts = metric.find("/answers") != std::string::npos;
    EXPECT_NEAR(points.at(metric), value, counts ? 0 : 0.02) << metric;
  }
}

}  // namespace
}  // namespace gyre
