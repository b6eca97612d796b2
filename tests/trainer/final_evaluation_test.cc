#include "trainer/final_evaluation.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <set>

#include "base/files.h"
#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/made_job.h"
#include "trainer/backend/create_backend.h"
#include "trainer/evaluation.h"
#include "trainer/position/rotation.h"
#include "trainer/pretrained/safetensors.h"

namespace gyre {
namespace {

using Points = std::map<std::string, double>;

class FinalEvaluationTest : public TemporaryHomeTest {
 protected:
  FinalEvaluationTest() {
    job_ = MakeJob(home_);
    job_.config.train.tokens = 3 * 64;
    std::string longer;
    for (int i = 0; i < 70; ++i) longer += static_cast<char>('a' + i * i % 8);
    job_.validation_datasets["held"] =
        MakeDataset(home_, {"defghabc", longer, "bcdefghabcdefghab"});
  }

  // What the last step says.
  Points End(const TrainerJob& job) {
    TrainControl control;
    RecordingObserver observer;
    const auto outcome = Train(job, {home_, "", 1}, observer, control);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    Points points;
    for (const PointValue& point : observer.points) {
      if (point.step == 3) points[point.metric] = point.value;
    }
    weights_ = observer.checkpoints.back().hash;
    return points;
  }

  DocumentLosses Documents(const TrainerJob& job) {
    TrainControl control;
    RecordingObserver observer;
    const auto outcome = Train(job, {home_, "", 1}, observer, control);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(observer.statistics.size(), 1u);
    EXPECT_EQ(observer.statistics.back().step, 3);
    EXPECT_EQ(observer.statistics.back().document_losses.size(), job.validation_datasets.size());
    return observer.statistics.back().document_losses.at(0);
  }

  // The loss of the last weights on whole windows of `length`, with positions resolved for that
  // length, by itself.
  double LossAt(const TrainerJob& job, int length) {
    const auto backend = CreateBackend("cpu", 1);
    const ModelConfig& config = job.config.model;
    auto model = Model::Create(config, *ResolvePositions(job.config.position, config, length),
                               backend->get(), 1, length, false);
    const auto file = SafetensorsFile::Open(home_ / "objects" / weights_);
    for (const Tensor& tensor : (*model)->parameters()) {
      const TensorEntry* entry = file->Find(tensor.name);
      std::vector<float> values(static_cast<size_t>(ValueCount(entry->shape)));
      EXPECT_TRUE(file->Read(*entry, values).ok());
      EXPECT_TRUE((*model)->Load(TensorKind::kWeight, tensor.name, values).ok());
    }
    const auto dataset = Dataset::Open(home_, job.validation_datasets.at("held"));
    const auto windows = Windows::Create(&*dataset, length);
    return EvaluateLoss(*windows, windows->count(), 1, model->get())->mean();
  }

  TrainerJob job_;
  std::string weights_;
};

TEST_F(FinalEvaluationTest, WithoutListsItSaysWhatItAlwaysSaid) {
  Points points = End(job_);
  for (const char* metric :
       {"train/loss", "train/learning_rate", "train/gradient_norm", "held/loss_sample", "held/loss",
        "held/perplexity", "held/bits_per_byte"}) {
    EXPECT_EQ(points.erase(metric), 1u) << metric;
  }
  EXPECT_TRUE(points.empty()) << points.begin()->first;
}

TEST_F(FinalEvaluationTest, EachContextHasItsOwnWindows) {
  const Points plain = End(job_);
  job_.config.evaluate.contexts = {5, 16, 64, 100};
  const Points points = End(job_);
  for (const auto& [metric, value] : plain) EXPECT_EQ(points.at(metric), value) << metric;
  EXPECT_EQ(points.at("held/loss@16"), points.at("held/loss"));
  for (const int context : {5, 64, 100}) {
    const std::string at = "@" + std::to_string(context);
    const double loss = points.at("held/loss" + at);
    EXPECT_NEAR(loss, LossAt(job_, context), 1e-6) << context;
    EXPECT_NE(loss, points.at("held/loss"));
    EXPECT_EQ(points.at("held/perplexity" + at), std::exp(loss));
    EXPECT_NEAR(points.at("held/bits_per_byte" + at), loss / std::log(2), 1e-12);
  }
  // Of documents of 8, 70 and 17 tokens.
  EXPECT_EQ(points.at("held/full_windows@5"), 1 + 14 + 3);
  EXPECT_EQ(points.at("held/full_windows@16"), 4 + 1);
  EXPECT_EQ(points.at("held/full_windows@64"), 1);
  EXPECT_EQ(points.at("held/full_windows@100"), 0);
}

TEST_F(FinalEvaluationTest, EachDocumentHasItsLoss) {
  job_.validation_datasets["other"] = MakeDataset(home_, {"abc", "", "defghabcdefghabcdefgh"});
  job_.config.evaluate.contexts = {5};
  const Points points = End(job_);
  const DocumentLosses held = Documents(job_);
  EXPECT_EQ(held.set, "held");
  EXPECT_THAT(held.targets, testing::ElementsAre(8, 70, 17));
  double nats = 0;
  for (const double value : held.nats) nats += value;
  EXPECT_NEAR(nats / 95, points.at("held/loss"), 1e-12);

  // One by one they are what the documents are by themselves.
  TrainerJob alone = job_;
  alone.validation_datasets = {{"alone", MakeDataset(home_, {"bcdefghabcdefghab"})}};
  EXPECT_NEAR(Documents(alone).nats.at(0), held.nats[2], 1e-5);
  alone.validation_datasets = {{"other", job_.validation_datasets.at("other")}};
  const DocumentLosses other = Documents(alone);
  EXPECT_THAT(other.targets, testing::ElementsAre(3, 0, 21));
  EXPECT_EQ(other.nats[1], 0);
}

TEST_F(FinalEvaluationTest, VeryManyDocumentsArePutTogether) {
  std::vector<std::string> documents;
  for (int d = 0; d < 6000; ++d) documents.push_back(std::string(1 + d % 3, 'a'));
  job_.validation_datasets = {{"many", MakeDataset(home_, documents)}};
  job_.config.train.tokens = 3 * 64;
  const DocumentLosses groups = Documents(job_);
  ASSERT_EQ(groups.targets.size(), 4096u);
  // Document d is in group d * 4096 / 6000.
  EXPECT_EQ(groups.targets[0], 1 + 2);
  EXPECT_EQ(groups.targets[1], 3);
  EXPECT_EQ(groups.targets[2], 1 + 2);
  EXPECT_EQ(groups.targets[3], 3);
  EXPECT_EQ(groups.targets[4095], 3);
  int64_t sum = 0;
  for (const int64_t targets : groups.targets) sum += targets;
  EXPECT_EQ(sum, 12000);
}

TEST_F(FinalEvaluationTest, DynamicScalingIsResolvedForEachContext) {
  EncodingConfig& encoding = job_.config.position.common;
  encoding.theta = 10;
  encoding.scaling.type = "dynamic";
  encoding.scaling.factor = 4;
  encoding.scaling.original_max_position_embeddings = 16;
  job_.config.evaluate.contexts = {64};
  const double dynamic = End(job_).at("held/loss@64");
  EXPECT_NEAR(dynamic, LossAt(job_, 64), 1e-6);
  // Up to the original length dynamic scaling is none, so the weights are the same.
  encoding.scaling = {};
  EXPECT_NE(End(job_).at("held/loss@64"), dynamic);
}

// The weighted mean of the buckets is the whole loss, and none of the targets is lost or doubled.
TEST_F(FinalEvaluationTest, BucketsMakeTheWhole) {
  job_.config.evaluate.contexts = {12, 64};
  job_.config.evaluate.positions = {0, 4, 12, 24};
  job_.config.evaluate.document_lengths = {0, 10, 20};
  const Points points = End(job_);
  const std::map<std::string, std::vector<std::string>> places = {
      {"", {"0-4", "4-12", "12-16"}},
      {"@12", {"0-4", "4-12"}},
      {"@64", {"0-4", "4-12", "12-24", "24-64"}}};
  const std::vector<std::string> documents = {"documents-0-10", "documents-10-20", "documents-20+"};
  std::set<std::string> expected;
  for (const auto& [at, buckets] : places) {
    for (const auto& names : {buckets, documents}) {
      double nats = 0, targets = 0;
      for (const std::string& name : names) {
        const double count = points.at("held/targets" + at + "/" + name);
        nats += points.at("held/loss" + at + "/" + name) * count;
        targets += count;
        expected.insert({"held/loss" + at + "/" + name, "held/targets" + at + "/" + name});
      }
      EXPECT_EQ(targets, 8 + 70 + 17);
      EXPECT_NEAR(nats / targets, points.at("held/loss" + at), 1e-14 * nats) << at;
    }
  }
  for (const auto& [metric, value] : points) {
    const bool bucket = metric.find('/', metric.find('/') + 1) != std::string::npos;
    EXPECT_EQ(bucket, expected.contains(metric)) << metric;
  }
  EXPECT_EQ(points.at("held/targets/documents-0-10"), 8);
  EXPECT_EQ(points.at("held/targets@64/24-64"), 40);  // of one document's only long window
  // Tokens with more text before them are easier where the text repeats itself.
  EXPECT_NE(points.at("held/loss@64/0-4"), points.at("held/loss@64/24-64"));
}

}  // namespace
}  // namespace gyre
