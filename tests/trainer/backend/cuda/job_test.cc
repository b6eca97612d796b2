// Whole jobs on the CUDA backend: the same bits each time, and checkpoints that go on elsewhere.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>

#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/made_job.h"

namespace gyre {
namespace {

constexpr int64_t kSteps = 4, kCheckpoint = 2;

struct Ran {
  Result<TrainOutcome> outcome = Internal("not run");
  RecordingObserver observer;

  /// The names of checkpoints are hashes of all that is in them.
  std::vector<std::string> Checkpoints() const {
    std::vector<std::string> hashes;
    for (const CheckpointInfo& checkpoint : observer.checkpoints) {
      hashes.push_back(std::to_string(checkpoint.step) + " " + checkpoint.hash);
    }
    return hashes;
  }
  std::string LastCheckpoint() const {
    return observer.checkpoints.empty() ? "" : observer.checkpoints.back().hash;
  }
  std::string CheckpointAt(int64_t step) const {
    for (const CheckpointInfo& checkpoint : observer.checkpoints) {
      if (checkpoint.step == step) return checkpoint.hash;
    }
    return "";
  }
};

std::vector<std::string> Bits(const Ran& ran) {
  std::vector<std::string> lines;
  for (const PointValue& point : ran.observer.points) {
    char value[64];
    std::snprintf(value, sizeof value, "%a", point.value);
    lines.push_back(point.metric + " " + std::to_string(point.step) + " " + value);
  }
  return lines;
}

class CudaJobTest : public TemporaryHomeTest, public testing::WithParamInterface<const char*> {
 protected:
  /// Two layers, shared keys, documents in rows, several micro-batches an update.
  TrainerJob Job() {
    TrainerJob job = MakeJob(home_);
    ModelConfig& model = job.config.model;
    model.num_hidden_layers = 2;
    model.hidden_size = 32;
    model.intermediate_size = 48;
    model.num_attention_heads = 4;
    model.num_key_value_heads = 2;
    model.head_dim = 8;
    TrainConfig& train = job.config.train;
    train.precision = GetParam();
    train.batch_tokens = 3 * 16;
    train.tokens = kSteps * train.batch_tokens;
    train.checkpoint_every = kCheckpoint * train.batch_tokens;
    train.schedule.warmup_tokens = train.batch_tokens;
    job.config.evaluate.every = 2 * train.batch_tokens;
    return job;
  }
  Ran Run(const std::string& backend, const std::string& resume_from = "") {
    Ran ran;
    TrainControl control;
    ran.outcome = Train(Job(), {.home = home_, .resume_from = resume_from, .backend = backend},
                        ran.observer, control);
    EXPECT_TRUE(ran.outcome.ok()) << ran.outcome.status();
    return ran;
  }
  /// The same points after kCheckpoint, within what rounding gives in a few steps.
  void ExpectGoesOnAs(const Ran& whole, const Ran& resumed) {
    const double tolerance = std::string(GetParam()) == "bf16" ? 3e-2 : 1e-3;
    std::map<std::pair<std::string, int64_t>, double> expected;
    for (const PointValue& point : whole.observer.points) {
      if (point.step > kCheckpoint) expected[{point.metric, point.step}] = point.value;
    }
    EXPECT_EQ(resumed.observer.points.size(), expected.size());
    for (const PointValue& point : resumed.observer.points) {
      ASSERT_TRUE(expected.contains({point.metric, point.step})) << point.metric;
      const double want = expected.at({point.metric, point.step});
      EXPECT_NEAR(point.value, want, tolerance * std::abs(want)) << point.metric << point.step;
    }
  }
};

TEST_P(CudaJobTest, TheSameJobGivesTheSameBits) {
  const Ran one = Run("cuda"), two = Run("cuda");
  EXPECT_GT(one.observer.points.size(), size_t{kSteps});
  EXPECT_EQ(Bits(one), Bits(two));
  EXPECT_EQ(one.Checkpoints(), two.Checkpoints());
  const Ran rest = Run("cuda", one.CheckpointAt(kCheckpoint));
  EXPECT_EQ(rest.LastCheckpoint(), one.LastCheckpoint());
}

TEST_P(CudaJobTest, WhatBeganOnAGpuGoesOnOnTheCpu) {
  const Ran on_gpu = Run("cuda");
  ExpectGoesOnAs(on_gpu, Run("cpu", on_gpu.CheckpointAt(kCheckpoint)));
}

TEST_P(CudaJobTest, WhatBeganOnTheCpuGoesOnOnAGpu) {
  const Ran on_cpu = Run("cpu");
  ExpectGoesOnAs(on_cpu, Run("cuda", on_cpu.CheckpointAt(kCheckpoint)));
}

INSTANTIATE_TEST_SUITE_P(Precisions, CudaJobTest, testing::Values("float32", "bf16"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace gyre
