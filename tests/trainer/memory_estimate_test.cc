// The estimate against what a run took. Tolerance: 10 % of what was taken and 24 MiB, either way.

#include "trainer/model/memory_estimate.h"

#include <gmock/gmock.h>

#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/made_job.h"
#include "trainer/backend/create_backend.h"
#include "trainer/trainer.h"

namespace gyre {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class MemoryEstimateTest : public TemporaryHomeTest {
 protected:
  /// One update of a model in which a part of the memory stands out.
  TrainerJob Job(int hidden, int layers, int context, int rows) {
    TrainerJob job = MakeJob(home_);
    ModelConfig& model = job.config.model;
    model.num_hidden_layers = layers;
    model.hidden_size = hidden;
    model.intermediate_size = 4 * hidden;
    model.head_dim = hidden / 2;
    job.config.data.context = context;
    job.config.train.micro_batch = rows;
    job.config.train.batch_tokens = job.config.train.tokens = int64_t{rows} * context;
    job.config.evaluate.every = job.config.train.tokens;
    job.config.evaluate.tokens = context;
    return job;
  }

  void ExpectMeasured(const TrainerJob& job, int threads = 1, int margin_mib = 24) {
    RecordingObserver observer;
    TrainControl control;
    const auto outcome = Train(job, {home_, "", threads}, observer, control);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    const MemoryEstimate estimate = EstimateMemory(job.config, threads);
    const auto measured = static_cast<double>(outcome->peak_memory_bytes);
    RecordProperty("measured_mib", std::to_string(measured / (1 << 20)));
    RecordProperty("estimated_mib",
                   std::to_string(static_cast<double>(estimate.total()) / (1 << 20)));
    EXPECT_NEAR(static_cast<double>(estimate.total()), measured,
                0.1 * measured + margin_mib * (1 << 20))
        << DescribeParts(estimate);
  }
};

TEST_F(MemoryEstimateTest, AgreesWithASmallRun) { ExpectMeasured(Job(8, 1, 16, 4)); }

TEST_F(MemoryEstimateTest, AgreesWithARunOfManyParameters) { ExpectMeasured(Job(320, 5, 16, 1)); }

TEST_F(MemoryEstimateTest, AgreesWithARunOfManyActivations) { ExpectMeasured(Job(64, 4, 128, 96)); }

TEST_F(MemoryEstimateTest, AgreesWithARunOnManyThreads) { ExpectMeasured(Job(256, 2, 1024, 2), 8); }

// What the library keeps for the products of a long row's many blocks is little.
TEST_F(MemoryEstimateTest, AgreesWithARunOfALongContext) {
  TrainerJob job = Job(32, 1, 1 << 14, 1);
  job.train_datasets = {{MakeDataset(home_, {std::string((1 << 14) + 1, 'a')}, "long"), 1}};
  ExpectMeasured(job, 1, /*margin_mib=*/16);
}

TEST_F(MemoryEstimateTest, AgreesWithRunsInBf16) {
  if (UsablePrecision(kDefaultBackend, Precision::kBf16) != Precision::kBf16) {
    GTEST_SKIP() << "this processor has no instructions for bf16";
  }
  for (TrainerJob job : {Job(320, 5, 16, 1), Job(64, 4, 128, 96)}) {
    job.config.train.precision = "bf16";
    ExpectMeasured(job);
  }
}

// Of a document that is long enough: memory that nobody uses does not come into being.
TEST_F(MemoryEstimateTest, AgreesWithAnEvaluationAtALongContext) {
  TrainerJob job = Job(256, 2, 16, 1);
  job.config.evaluate.contexts = {1 << 13};
  job.validation_datasets["held"] = MakeDataset(home_, {std::string((1 << 13) + 1, 'a')}, "long");
  ExpectMeasured(job);
}

TEST_F(MemoryEstimateTest, AJobThatCannotFitIsRefusedBeforeItTakesAnything) {
  TrainerJob job = Job(64, 4, 16, 4);
  job.config.model.num_hidden_layers = 2000;
  job.config.model.hidden_size = 1 << 14;
  job.config.model.intermediate_size = 1 << 16;
  RecordingObserver observer;
  TrainControl control;
  const Status status = Train(job, {home_, "", 1}, observer, control).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("the job needs about "), HasSubstr("optimizer "),
                    HasSubstr("activations "), HasSubstr(" for it; lower train.micro_batch")));
}

TEST(CheckMemory, ComparesWithWhatIsFree) {
  MemoryEstimate estimate;
  estimate.weights = estimate.gradients = int64_t{1} << 30;
  estimate.optimizer = int64_t{2} << 30;
  estimate.activations = int64_t{10} << 30;
  estimate.program = int64_t{205} << 20;
  EXPECT_EQ(CheckMemory(estimate, estimate.total()), OkStatus());
  EXPECT_EQ(CheckMemory(estimate, 0), OkStatus());  // nobody knows
  EXPECT_EQ(CheckMemory(estimate, int64_t{8} << 30),
            ResourceExhausted("the job needs about 14.2 GiB of memory (weights 1.0 GiB, gradients "
                              "1.0 GiB, optimizer 2.0 GiB, activations 10.0 GiB, program 205 MiB), "
                              "and this machine has 8.0 GiB for it; lower train.micro_batch or "
                              "data.context for the activations (or set train.recompute: layers), "
                              "the model's sizes for the rest"));
  EXPECT_THAT(CheckMemory(estimate, int64_t{8} << 30, "cuda:1").message(),
              HasSubstr(", and cuda:1 has 8.0 GiB for it"));
}

TEST(EstimateDeviceMemory, KnowsRoundedWeightsAndRecomputedLayers) {
  JobConfig config;
  config.train.tokens = config.train.batch_tokens = 64 * 512;
  config.train.micro_batch = 8;
  const MemoryEstimate wide = EstimateDeviceMemory(config);
  config.train.precision = "bf16";
  const MemoryEstimate narrow = EstimateDeviceMemory(config);
  EXPECT_EQ(narrow.weights, wide.weights + wide.weights / 2);
  EXPECT_EQ(narrow.optimizer, wide.optimizer);
  EXPECT_LT(narrow.activations, wide.activations);
  EXPECT_LT(narrow.program, wide.program);
  config.train.recompute = "layers";
  EXPECT_LT(EstimateDeviceMemory(config).activations, narrow.activations / 2);
}

// Without a budget nothing is kept for a way back.
TEST(EstimateMemory, OfWeightsAsTheyAreIsThatOfForwardPasses) {
  JobConfig config;
  config.train.tokens = config.train.batch_tokens = 64 * 512;
  const MemoryEstimate training = EstimateMemory(config, 1);
  config.train.tokens = 0;
  const MemoryEstimate evaluating = EstimateMemory(config, 1);
  EXPECT_EQ(evaluating.weights, training.weights);
  EXPECT_EQ(evaluating.gradients + evaluating.optimizer, 0);
  EXPECT_LT(evaluating.activations, training.activations / 2);
}

TEST(EstimateMemory, GrowsWithWhatItShould) {
  JobConfig config;
  config.train.tokens = config.train.batch_tokens = 64 * 512;
  config.train.micro_batch = 8;
  const MemoryEstimate base = EstimateMemory(config, 1);
  config.train.micro_batch = 16;
  EXPECT_NEAR(static_cast<double>(EstimateMemory(config, 1).activations),
              2.0 * static_cast<double>(base.activations), 1e5);
  EXPECT_EQ(EstimateMemory(config, 1).weights, base.weights);
  config.train.micro_batch = 0;  // the whole batch
  EXPECT_NEAR(static_cast<double>(EstimateMemory(config, 1).activations),
              8.0 * static_cast<double>(base.activations), 1e5);
  EXPECT_GT(EstimateMemory(config, 8).program, EstimateMemory(config, 1).program);
}

// What products take has half the size in bfloat16, all else stays as it is.
TEST(EstimateMemory, KnowsPrecisionAndMlp) {
  JobConfig config;
  config.train.tokens = config.train.batch_tokens = 16 * 512;
  config.data.context = 512;
  const MemoryEstimate wide = EstimateMemory(config, 1);
  config.train.precision = "bf16";
  const MemoryEstimate narrow = EstimateMemory(config, 1);
  EXPECT_EQ(narrow.weights, wide.weights);
  EXPECT_EQ(narrow.gradients, wide.gradients);
  EXPECT_EQ(narrow.optimizer, wide.optimizer);
  EXPECT_LT(narrow.activations, wide.activations * 3 / 4);
  EXPECT_GT(narrow.activations, wide.activations / 2);
  config.model.mlp = "plain";
  EXPECT_LT(EstimateMemory(config, 1).activations, narrow.activations);
}

// Beside the activations, the angles of every layer and each thread's scores grow with the length.
TEST(EstimateMemory, OfAnEvaluationHasAllThatItsLengthTakes) {
  JobConfig config;
  config.train.tokens = config.train.batch_tokens = 64 * 512;
  config.train.micro_batch = 8;
  const ModelConfig& model = config.model;
  const auto at = [&config](int context, int threads) {
    config.evaluate.contexts = {context};
    return EstimateMemory(config, threads).evaluation;
  };
  // As many tokens in one row as in four.
  const int64_t longer = 3 * 1024;
  EXPECT_GE(at(4096, 1) - at(1024, 1),
            longer * 4 * (model.head_dim * model.num_hidden_layers + 2 * 64));
  EXPECT_GE(at(65536, 3) - at(65536, 1), 2 * int64_t{65536} * 4 * 2 * 64);
}

}  // namespace
}  // namespace gyre
