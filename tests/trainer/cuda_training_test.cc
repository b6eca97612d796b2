// Whole jobs on the CUDA backend, its kernels executed on the CPU.

#include <gmock/gmock.h>

#include <cmath>

#include "base/log.h"
#include "tests/emulation/options.h"
#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/made_job.h"

namespace gyre {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

struct Ran {
  Result<TrainOutcome> outcome = Internal("not run");
  RecordingObserver observer;

  std::vector<std::pair<int64_t, double>> losses() const {
    return observer.Curve("held/loss_sample");
  }
};

class CudaTrainingTest : public TemporaryHomeTest {
 protected:
  ~CudaTrainingTest() override { emulation::TheOptions().allocations_to_failure = 0; }

  Ran Run(const TrainerJob& job, const std::string& backend) {
    Ran ran;
    TrainControl control;
    TrainOptions options{.home = home_};
    options.backend = backend;
    ran.outcome = Train(job, options, ran.observer, control);
    EXPECT_TRUE(ran.outcome.ok()) << ran.outcome.status();
    return ran;
  }
  void ExpectClose(const Ran& one, const Ran& other, double tolerance) {
    ASSERT_EQ(one.losses().size(), other.losses().size());
    for (size_t i = 0; i < one.losses().size(); ++i) {
      EXPECT_EQ(one.losses()[i].first, other.losses()[i].first);
      EXPECT_NEAR(one.losses()[i].second, other.losses()[i].second, tolerance);
    }
  }
};

// Twenty steps from the same weights on the same batches. float32 differs in the order of its sums;
// bf16 in what is rounded on the way, too (this backend rounds what comes out of products before
// it is rotated or activated).
TEST_F(CudaTrainingTest, IsTheCpusTraining) {
  TrainerJob job = MakeJob(home_);
  const Ran cpu = Run(job, "cpu"), cuda = Run(job, "cuda");
  EXPECT_GT(cpu.losses().front().second - cpu.losses().back().second, 0.3);  // it learns
  ExpectClose(cpu, cuda, 1e-5);
  job.config.train.precision = "bf16";
  ExpectClose(cpu, Run(job, "cuda"), 2e-2);
}

TEST_F(CudaTrainingTest, ItsStatisticsAreTheCpus) {
  TrainerJob job = MakeJob(home_);
  job.config.model.num_key_value_heads = 1;
  job.config.statistics = {.every = 10 * 64,
                           .sequences = 4,
                           .collect = {kFrequencyNorms, kLogitShares, kHeadScores, kTokenNorms}};
  const auto flat = [&](const char* backend) {
    Json all = Json::array();
    for (const auto& record : Run(job, backend).observer.statistics) all.push_back(ToJson(record));
    return all.flatten();
  };
  const Json cpu = flat("cpu"), cuda = flat("cuda");
  ASSERT_EQ(cpu.size(), cuda.size());
  for (const auto& [place, value] : cpu.items()) {
    if (!value.is_number_float()) continue;
    const double want = value.get<double>();
    EXPECT_NEAR(cuda[place].get<double>(), want, 1e-3 * std::max(0.01, std::abs(want))) << place;
  }
}

// Whichever allocation finds no memory: the same batches in halves, and everybody is told.
TEST_F(CudaTrainingTest, OutOfMemoryHalvesTheMicroBatchOnce) {
  SetLogLevel(LogLevel::kOff);
  TrainerJob job = MakeJob(home_);
  job.config.train.precision = "bf16";
  job.config.train.checkpoint_every = 5 * job.config.train.batch_tokens;
  const Ran undisturbed = Run(job, "cuda");
  EXPECT_THAT(undisturbed.observer.Curve("train/micro_batch"), IsEmpty());
  for (const uint64_t allocation : {2, 5, 12, 30, 300, 700}) {
    emulation::TheOptions().allocations_to_failure = allocation;
    const Ran ran = Run(job, "cuda");
    ASSERT_EQ(emulation::TheOptions().allocations_to_failure, 0u) << "fewer than " << allocation;
    EXPECT_THAT(ran.observer.Curve("train/micro_batch"), ElementsAre(Pair(testing::Ge(0), 1.0)));
    EXPECT_NEAR(ran.losses().back().second, undisturbed.losses().back().second, 2e-2);
  }
}

TEST_F(CudaTrainingTest, OutOfMemoryOfASingleRowIsTheEnd) {
  SetLogLevel(LogLevel::kOff);
  TrainerJob job = MakeJob(home_);
  job.config.train.micro_batch = 1;
  emulation::TheOptions().allocations_to_failure = 20;
  RecordingObserver observer;
  TrainControl control;
  TrainOptions options{.home = home_};
  options.backend = "cuda";
  const Status status = Train(job, options, observer, control).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(status.message(), testing::HasSubstr("a smaller model or micro-batch needs less"));
}

TEST_F(CudaTrainingTest, WhatCannotFitFailsAtOnceWithTheNumbers) {
  TrainerJob job = MakeJob(home_);
  job.config.model.hidden_size = 1 << 12;
  job.config.model.intermediate_size = 1 << 14;
  job.config.model.num_hidden_layers = 8;
  RecordingObserver observer;
  TrainControl control;
  TrainOptions options{.home = home_};
  options.backend = "cuda";
  const Status status = Train(job, options, observer, control).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(status.message(), testing::HasSubstr(", and cuda:0 has 4.0 GiB for it; "));
  EXPECT_THAT(observer.points, IsEmpty());
}

}  // namespace
}  // namespace gyre
