// The estimate of a GPU's memory against what jobs took of it. The device is nobody else's
// meanwhile.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/made_job.h"
#include "trainer/backend/create_backend.h"
#include "trainer/backend/load_cuda.h"
#include "trainer/model/memory_estimate.h"

namespace gyre {
namespace {

// What the driver takes for a process depends on the driver and the device.
constexpr double kDriver = 700.0 * (1 << 20);

class DeviceMemoryTest : public TemporaryHomeTest, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    const auto plugin = LoadCudaPlugin();
    ASSERT_TRUE(plugin.ok()) << plugin.status();
    const CudaReport report = (*plugin)->Report();
    if (report.devices.empty()) GTEST_SKIP() << report.absent;
    memory_bytes_ = report.devices[0].memory_bytes;
  }

  /// One update.
  TrainerJob Job(int hidden, int layers, int context, int rows) {
    TrainerJob job = MakeJob(home_);
    ModelConfig& model = job.config.model;
    model.num_hidden_layers = layers;
    model.hidden_size = hidden;
    model.intermediate_size = 4 * hidden;
    model.num_attention_heads = model.num_key_value_heads = hidden / 64;
    model.head_dim = 64;
    job.config.data.context = context;
    job.config.train.precision = GetParam();
    job.config.train.micro_batch = rows;
    job.config.train.batch_tokens = job.config.train.tokens = int64_t{rows} * context;
    job.config.evaluate.every = job.config.train.tokens;
    job.config.evaluate.tokens = context;
    const std::string text(static_cast<size_t>(context) + 1, 'a');
    job.train_datasets = {{MakeDataset(home_, {text}, "long"), 1}};
    job.validation_datasets["held"] = job.train_datasets[0].hash;
    return job;
  }

  void ExpectMeasured(const TrainerJob& job) {
    RecordingObserver observer;
    int64_t free = memory_bytes_;
    observer.on_point = [&free](const PointValue&) {
      const auto now = FreeDeviceMemory(0);
      ASSERT_TRUE(now.ok()) << now.status();
      free = std::min(free, *now);
    };
    TrainControl control;
    const auto outcome = Train(job, {.home = home_, .backend = "cuda"}, observer, control);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    const MemoryEstimate estimate = EstimateDeviceMemory(job.config);
    const auto taken = static_cast<double>(memory_bytes_ - free);
    const auto estimated = static_cast<double>(estimate.total());
    const std::string numbers = "taken " + DescribeBytes(memory_bytes_ - free) + ", estimated " +
                                DescribeBytes(estimate.total()) + ": " + DescribeParts(estimate);
    std::printf("%s\n", numbers.c_str());
    EXPECT_LE(taken, estimated) << numbers;
    EXPECT_GE(taken, 0.9 * estimated - kDriver) << numbers;
  }

  int64_t memory_bytes_ = 0;
};

TEST_P(DeviceMemoryTest, OfManyParameters) { ExpectMeasured(Job(1024, 8, 64, 1)); }
TEST_P(DeviceMemoryTest, OfManyActivations) { ExpectMeasured(Job(512, 8, 512, 64)); }
TEST_P(DeviceMemoryTest, OfALongContext) { ExpectMeasured(Job(256, 4, 1 << 15, 1)); }

INSTANTIATE_TEST_SUITE_P(Precisions, DeviceMemoryTest, testing::Values("float32", "bf16"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace gyre
