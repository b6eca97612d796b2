#include "coordinator/explain.h"

#include <gtest/gtest.h>

namespace gyre {
namespace {

TEST(Explain, SaysWhatNoWorkerHas) {
  WorkerRecord small;
  small.slots = 2;
  small.cpus = 2;
  small.memory_bytes = int64_t{8} << 30;
  WorkerRecord narrow = small;
  narrow.cpus = 1;
  narrow.memory_bytes = int64_t{64} << 30;
  const auto why = [&](const Resources& needs) { return WhyNoneFits(needs, {&small, &narrow}); };
  EXPECT_EQ(why({.cpus = 2}), "");
  EXPECT_EQ(why({.cpus = 1, .memory_bytes = int64_t{32} << 30}), "");
  EXPECT_EQ(why({.cpus = 8}), "a job needs 8 cpus, and the largest worker has 2");
  EXPECT_EQ(why({.memory_bytes = int64_t{128} << 30}),
            "a job needs 128.0 GiB of memory, and the largest worker has 64.0 GiB");
  EXPECT_EQ(why({.memory_bytes = int64_t{128} << 30, .memory_parts = "weights 96.0 GiB, ..."}),
            "a job needs 128.0 GiB of memory (weights 96.0 GiB, ...), and the largest worker has "
            "64.0 GiB; lower train.micro_batch or data.context for the activations (or set "
            "train.recompute: layers), the model's sizes for the rest");
  EXPECT_EQ(why({.cpus = 2, .memory_bytes = int64_t{32} << 30}),
            "no single worker has both the cpus and the memory that a job needs");
  EXPECT_EQ(why({.gpus = 1}), "a job needs a GPU, and no worker has one");
  narrow.devices = {{"cuda:0", "cuda", "H200", int64_t{96} << 30}};
  EXPECT_EQ(why({.gpus = 1, .memory_bytes = int64_t{80} << 30}), "");
  EXPECT_EQ(why({.memory_bytes = int64_t{80} << 30}), "");
  EXPECT_EQ(why({.gpus = 4}), "a job needs 4 GPUs, and no worker has more than 1");
  EXPECT_EQ(why({.gpus = 1, .memory_bytes = int64_t{100} << 30}),
            "a job needs 100.0 GiB of memory, and the largest worker has 96.0 GiB");
  small.gone = narrow.gone = true;
  EXPECT_EQ(why({}), "no worker is connected");
}

}  // namespace
}  // namespace gyre
