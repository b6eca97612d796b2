// A coordinator that is away for longer than jobs take, and a worker that ends meanwhile: what was
// trained in that time is delivered when it is back, and nothing is trained twice.

#include <string>
#include <vector>

#include "tests/integration/cluster.h"
#include "worker/spool.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPoints =
    "SELECT v.name, j.seed, p.metric, p.step, p.tokens, p.value FROM points p "
    "JOIN jobs j ON j.id = p.job_id JOIN variants v ON v.id = j.variant_id ORDER BY 1, 2, 3, 4";
constexpr const char* kFinalWeights =
    "SELECT v.name, j.seed, c.step, c.hash FROM checkpoints c JOIN jobs j ON j.id = c.job_id "
    "JOIN variants v ON v.id = j.variant_id WHERE c.weights_only ORDER BY 1, 2";

class OutageTest : public ClusterTest {
 protected:
  /// What that worker keeps on disk has the outcome of its job. (Looked for in a copy: a spool that
  /// is opened is cut where it is being written.)
  bool HasFinishedAlone(size_t worker) const {
    const fs::path spools =
        folder_ / "home" / "workers" / ("w" + std::to_string(worker) + ".spool");
    std::error_code error;
    for (fs::directory_iterator entry(spools, error), end; !error && entry != end;
         entry.increment(error)) {
      const fs::path copy = folder_ / "copy.spool";
      fs::copy_file(entry->path(), copy, fs::copy_options::overwrite_existing, error);
      const auto spool = Spool::Open(copy, int64_t{1} << 30);
      if (spool.ok() && (*spool)->summary().outcome) return true;
    }
    return false;
  }
};

// skypilot-org/skypilot#6133: a job that finished while the controller was cut off is run again.
// It4innovations/hyperqueue#249, It4innovations/hyperqueue#978: workers do not survive the server's
// restart.
TEST_F(OutageTest, JobsThatFinishWhileTheCoordinatorIsAwayAreDeliveredAndNotRunAgain) {
  const auto sweep = WriteSweep("wheel"), undisturbed = folder_ / "undisturbed.db";
  ASSERT_EQ(Gyre({"run", sweep, "--db", undisturbed, "--slots", "2"}, "undisturbed", "run.log")
                .Wait(kDeadline),
            0);
  StartCoordinator();
  StartWorker(0);
  StartWorker(1);
  ASSERT_TRUE(Await([&] { return Submit(sweep) == 0; }));
  ASSERT_TRUE(AwaitMorePoints(100));
  coordinator_->Kill();
  ASSERT_TRUE(Await([&] { return HasFinishedAlone(0) && HasFinishedAlone(1); }));
  const std::string unfinished = "jobs WHERE state <> 'SUCCEEDED'";
  const int64_t left = Count(unfinished);
  EXPECT_EQ(left, kJobs - Count("jobs WHERE state = 'SUCCEEDED'"));
  workers_[0].Kill();
  StartWorker(0);
  StartCoordinator();
  ASSERT_TRUE(Await([&] { return Count(unfinished) == 0; }));

  EXPECT_EQ(Count("attempts"), kJobs);  // each was trained once
  EXPECT_EQ(Count("events WHERE kind = 'attempt_reattached' AND details ->> 'has_ended'"), 1);
  EXPECT_EQ(Count("coordinators"), 2);
  EXPECT_EQ(Count("attempts a WHERE a.epoch = (SELECT id FROM coordinators WHERE epoch = 1)") +
                Count("attempts a WHERE a.epoch = (SELECT id FROM coordinators WHERE epoch = 2)"),
            kJobs);
  const Rows points = Select(db_, kPoints);
  EXPECT_GT(points.size(), 3000u);
  EXPECT_EQ(points, Select(undisturbed, kPoints));
  const Rows weights = Select(db_, kFinalWeights);
  EXPECT_EQ(weights.size(), size_t{kJobs});
  EXPECT_EQ(weights, Select(undisturbed, kFinalWeights));
  for (const char* worker : {"w0", "w1"}) {
    EXPECT_TRUE(Await([&] {
      return fs::is_empty(folder_ / "home" / "workers" / (std::string(worker) + ".spool"));
    })) << "what was delivered stays on disk";
  }
}

}  // namespace
}  // namespace gyre
