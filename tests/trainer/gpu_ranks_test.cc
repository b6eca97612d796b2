// One job on several GPUs: the CUDA backend and NCCL's communicator on the emulated CUDA, a thread
// a rank, each with a device of its own.

#include <gmock/gmock.h>

#include <cmath>

#include "tests/emulation/options.h"
#include "tests/trainer/collective/ranks_in_threads.h"
#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/made_job.h"
#include "trainer/collective/nccl_plugin.h"

namespace gyre {
namespace {

class GpuRanksTest : public TemporaryHomeTest {
 protected:
  GpuRanksTest() : job_(MakeJob(home_)) {
    emulation::TheOptions().devices = 4;
    job_.config.train.tokens = 6 * 64;
    job_.config.evaluate.every = 3 * 64;
  }

  /// What rank 0 has said.
  RecordingObserver Train(int ranks, const std::string& precision) {
    job_.config.train.precision = precision;
    std::string id;
    EXPECT_TRUE(plugin_.NewId(&id).ok());
    RecordingObserver first;
    RunRanks("threads", ranks, {}, [&](std::unique_ptr<Communicator> host) {
      const int rank = host->rank();
      NcclOptions nccl{.device = rank, .id = id, .timeout_ms = kTestTimeout.count()};
      nccl.who_is_gone = [] { return std::string(); };
      std::unique_ptr<Communicator> communicator;
      const BackendError error = plugin_.Connect(nccl, std::move(host), &communicator);
      ASSERT_TRUE(error.ok()) << error.message;
      RecordingObserver observer;
      TrainControl control;
      const TrainOptions options{home_, "", 1, "cuda:" + std::to_string(rank), communicator.get()};
      const auto outcome = gyre::Train(job_, options, observer, control);
      EXPECT_TRUE(outcome.ok()) << outcome.status();
      if (rank == 0) first = observer;
    });
    return first;
  }

  TrainerJob job_;
  NcclPlugin& plugin_ = *GyreNcclPlugin(GYRE_BACKEND_ABI);
};

void ExpectAgree(const RecordingObserver& one, const RecordingObserver& other, double tolerance) {
  ASSERT_EQ(one.points.size(), other.points.size());
  ASSERT_GT(one.points.size(), 10u);
  for (size_t i = 0; i < one.points.size(); ++i) {
    const PointValue &a = one.points[i], &b = other.points[i];
    ASSERT_EQ(a.metric, b.metric);
    EXPECT_NEAR(a.value, b.value, tolerance * std::max(1.0, std::abs(a.value)))
        << a.metric << " at " << a.step;
  }
}

TEST_F(GpuRanksTest, FourTrainAsOne) {
  const RecordingObserver one = Train(1, "float32"), four = Train(4, "float32");
  ExpectAgree(one, four, 1e-5);
  const RecordingObserver again = Train(4, "float32");
  EXPECT_EQ(four.checkpoints.back().hash, again.checkpoints.back().hash);
}

TEST_F(GpuRanksTest, ThreeShareFourRowsInBf16) {
  ExpectAgree(Train(1, "bf16"), Train(3, "bf16"), 5e-3);
}

}  // namespace
}  // namespace gyre
