// A coordinator and workers that share nothing but the network: each has a GYRE_HOME of its own.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "tests/integration/cluster.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPoints =
    "SELECT v.name, j.seed, p.metric, p.step, p.tokens, p.value FROM points p "
    "JOIN jobs j ON j.id = p.job_id JOIN variants v ON v.id = j.variant_id ORDER BY 1, 2, 3, 4";
constexpr const char* kWeights =
    "SELECT v.name, j.seed, c.step, c.hash FROM checkpoints c JOIN jobs j ON j.id = c.job_id "
    "JOIN variants v ON v.id = j.variant_id WHERE c.weights_only ORDER BY 1, 2";

class ObjectsTest : public ClusterTest {
 protected:
  ObjectsTest() {
    home_of_coordinator_ = "coordinator";
    home_of_worker_ = [](size_t index) { return "home" + std::to_string(index); };
    home_of_client_ = "client";
  }
  size_t Files(const fs::path& folder) const {
    size_t count = 0;
    std::error_code error;
    for (fs::directory_iterator entry(folder_ / folder, error), end; !error && entry != end;
         entry.increment(error)) {
      ++count;
    }
    return count;
  }
  /// Empty where there is none (yet).
  std::string Log(const std::string& name) const {
    const auto log = ReadFile(folder_ / name);
    return log.ok() ? *log : "";
  }
};

TEST_F(ObjectsTest, AJobGoesOnElsewhereFromACheckpointThatCameOverTheWireBitForBit) {
  const auto sweep = WriteSweep("wheel"), undisturbed = folder_ / "undisturbed.db";
  ASSERT_EQ(Gyre({"run", sweep, "--db", undisturbed, "--slots", "2"}, "undisturbed", "run.log")
                .Wait(kDeadline),
            0);

  StartCoordinator();
  StartWorker(0);
  StartWorker(1);
  ASSERT_TRUE(Await([&] { return Submit(sweep) == 0; }));
  ASSERT_TRUE(AwaitMorePoints(100));
  ASSERT_TRUE(Await([&] {
    return Count(
               "checkpoints c JOIN attempts a ON a.job_id = c.job_id AND a.number = c.attempt "
               "JOIN workers w ON w.id = a.worker_id "
               "WHERE w.name = 'w0' AND a.state = 'RUNNING'") > 0;
  }));
  workers_[0].Kill();  // for good: what it held goes on in another home
  ASSERT_TRUE(Await([&] { return Count("jobs WHERE state = 'SUCCEEDED'") == kJobs; }));

  EXPECT_GE(Count("attempts a JOIN workers w ON w.id = a.worker_id "
                  "WHERE w.name = 'w1' AND a.number > 1 AND a.resumed_from_step > 0"),
            1);
  EXPECT_EQ(Count("attempts WHERE state = 'FAILED'"), 0);
  // ray-project/ray#29553: steps go on where the checkpoint was, to the same end.
  EXPECT_EQ(Select(db_, "SELECT DISTINCT step FROM checkpoints WHERE weights_only"), Rows{"384"});
  EXPECT_EQ(Count("events WHERE kind = 'nondeterminism'"), 0);
  const Rows points = Select(db_, kPoints), weights = Select(db_, kWeights);
  EXPECT_GT(points.size(), 3000u);
  EXPECT_EQ(points, Select(undisturbed, kPoints));
  EXPECT_EQ(weights.size(), size_t{kJobs});
  EXPECT_EQ(weights, Select(undisturbed, kWeights));

  // What is left of it: the weights, at the coordinator alone.
  EXPECT_TRUE(Await([&] { return Files("coordinator/objects") == kJobs; }))
      << Files("coordinator/objects");
  EXPECT_EQ(Files("home1/objects"), 0u);
  EXPECT_TRUE(Await([&] { return Files("home1/workers/w1.home/objects") == 0; }));
}

// skypilot-org/skypilot#6133
TEST_F(ObjectsTest, AnOutcomeOfWhenTheCoordinatorWasAwayIsDeliveredOnceItIsBack) {
  StartCoordinator();
  StartWorker(0);
  ASSERT_TRUE(Await([&] { return Submit(WriteSweep("wheel")) == 0; }));
  ASSERT_TRUE(AwaitMorePoints(20));
  coordinator_->Kill();
  // The job that runs ends meanwhile, and its weights wait on the worker's disk.
  ASSERT_TRUE(Await([&] {
    return Log("w0.log").find("cannot reach") != std::string::npos &&
           Log("home0/logs/job-1-attempt-1.log").find("done") != std::string::npos;
  }));
  StartCoordinator();
  ASSERT_TRUE(Await([&] { return Count("attempts WHERE state = 'SUCCEEDED'") >= 1; }));
  EXPECT_EQ(Count("attempts WHERE job_id = 1"), 1);
  EXPECT_EQ(Count("checkpoints WHERE job_id = 1 AND weights_only"), 1);
  EXPECT_GE(Files("coordinator/objects"), 1u);
}

// ray-project/ray#5734
TEST_F(ObjectsTest, ADamagedCheckpointIsDroppedAndTheOneBeforeItTaken) {
  StartCoordinator();
  StartWorker(0);
  ASSERT_TRUE(Await([&] { return Submit(WriteSweep("wheel")) == 0; }));
  ASSERT_TRUE(Await([&] { return Count("checkpoints") >= 2; }));
  workers_[0].Kill();
  const Rows newest = Select(db_,
                             "SELECT hash, step, job_id FROM checkpoints WHERE job_id = "
                             "(SELECT job_id FROM checkpoints WHERE NOT weights_only GROUP BY "
                             "job_id HAVING count(*) = 2 LIMIT 1) ORDER BY step DESC LIMIT 1");
  ASSERT_EQ(newest.size(), 1u);
  const fs::path object = folder_ / "coordinator/objects" / newest[0].substr(0, 64);
  {
    std::fstream file(object, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(1000);
    file.put('!');
  }
  const std::string job = newest[0].substr(newest[0].rfind('|') + 1);
  StartWorker(1);
  ASSERT_TRUE(Await([&] { return Count("jobs WHERE state = 'SUCCEEDED' AND id = " + job) == 1; }));
  EXPECT_EQ(Count("events WHERE kind = 'checkpoint_dropped'"), 1);
  EXPECT_EQ(Count("attempts WHERE state = 'FAILED' AND error_code = 'DATA_LOSS'"), 1);
  EXPECT_EQ(Count("attempts WHERE resumed_from_step > 0 AND state = 'SUCCEEDED'"), 1);
  EXPECT_FALSE(fs::exists(object));
}

TEST_F(ObjectsTest, AFolderThatMachinesShareTakesThePlaceOfTheNetwork) {
  fs::create_directories(folder_ / "shared");
  options_of_coordinator_ = options_of_worker_ = {"--objects", folder_ / "shared"};
  StartCoordinator();
  StartWorker(0);
  ASSERT_TRUE(Await([&] { return Submit(WriteSweep("wheel")) == 0; }));
  ASSERT_TRUE(Await([&] { return Count("checkpoints WHERE weights_only") >= 1; }));
  EXPECT_GE(Files("shared/objects"), 1u);
  EXPECT_GE(Files("shared/datasets"), 2u);
  for (const char* other : {"coordinator/objects", "coordinator/datasets", "home0/objects",
                            "home0/datasets", "home0/workers/w0.home/objects"}) {
    EXPECT_EQ(Files(other), 0u) << other;
  }

  fs::create_directories(folder_ / "another");
  options_of_worker_ = {"--objects", folder_ / "another"};
  StartWorker(1);
  EXPECT_EQ(workers_[1].Wait(kDeadline), 1);
  EXPECT_NE(Log("w1.log").find("does not keep its objects in"), std::string::npos);
}

}  // namespace
}  // namespace gyre
