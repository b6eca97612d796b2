#pragma once

// A job of a second, for the training loop's tests.

#include <string>
#include <vector>

#include "tests/trainer/data/made_dataset.h"
#include "trainer/statistics/record.h"
#include "trainer/trainer.h"

namespace gyre {

/// 20 steps of 4 rows of 16 tokens, no checkpoints on the way, on "abcd..." over and over, in a
/// model of 3 thousand parameters.
inline TrainerJob MakeJob(const std::filesystem::path& home) {
  std::vector<std::string> documents;
  for (int d = 0; d < 6; ++d) {
    documents.emplace_back();
    for (int i = 0; i < 40 + 7 * d; ++i) documents.back() += static_cast<char>('a' + (i + d) % 8);
  }
  TrainerJob job;
  ModelConfig& model = job.config.model;
  model.num_hidden_layers = 1;
  model.hidden_size = 8;
  model.intermediate_size = 16;
  model.num_attention_heads = model.num_key_value_heads = 2;
  model.head_dim = 4;
  model.initializer_range = 0.1;
  job.config.data.train = "made";
  job.config.data.context = 16;
  TrainConfig& train = job.config.train;
  train.tokens = 20 * 64;
  train.batch_tokens = 64;
  train.micro_batch = 2;
  train.optimizer.lr = 0.02;
  train.schedule.warmup_tokens = 128;
  job.config.evaluate.every = 5 * 64;
  job.config.evaluate.tokens = 64;
  job.seed = 3;
  job.key = "key of the made job";
  job.train_datasets = {TrainText{MakeDataset(home, documents)}};
  job.validation_datasets["held"] =
      MakeDataset(home, {"defghabcdefghabc", "bcdefghabcdefghabcdef"});
  return job;
}

/// Keeps what it is told.
class RecordingObserver : public TrainObserver {
 public:
  void OnPoint(const PointValue& point) override {
    points.push_back(point);
    if (on_point) on_point(point);
  }
  void OnStatistics(const StatisticsRecord& record) override { statistics.push_back(record); }
  void OnCheckpoint(const CheckpointInfo& checkpoint) override {
    checkpoints.push_back(checkpoint);
  }
  void OnProgress(const TrainProgress&) override {}

  /// The curve of a metric: (step, value).
  std::vector<std::pair<int64_t, double>> Curve(const std::string& metric) const {
    std::vector<std::pair<int64_t, double>> curve;
    for (const PointValue& point : points) {
      if (point.metric == metric) curve.emplace_back(point.step, point.value);
    }
    return curve;
  }

  std::vector<PointValue> points;
  std::vector<StatisticsRecord> statistics;
  std::vector<CheckpointInfo> checkpoints;
  std::function<void(const PointValue&)> on_point;
};

}  // namespace gyre
