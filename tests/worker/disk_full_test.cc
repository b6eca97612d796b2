// A full disk is a state that heals: ray-project/ray#23674, ray-project/ray#23688.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "base/hash.h"
#include "base/ids.h"
#include "base/log.h"
#include "tests/small_disk.h"
#include "tests/worker/fake_coordinator.h"
#include "tests/worker/object_server.h"
#include "worker/agent.h"
#include "worker/disk_room.h"
#include "worker/job_files.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ManualClock : public Clock {
 public:
  Millis Now() const override { return now; }
  Millis WallTime() const override { return now; }
  Millis now{0};
};

TEST(DiskRoomTest, ItIsFullUntilThereIsMoreRoomThanWhenItWasFound) {
  SetLogLevel(LogLevel::kOff);
  ManualClock clock;
  DiskSpace space{int64_t{100} << 20, int64_t{1} << 40};
  DiskRoom room([&] { return space; }, clock);
  EXPECT_FALSE(room.full());
  room.Filled("cannot write x");  // of a file that is larger than what is free
  EXPECT_TRUE(room.full());
  EXPECT_EQ(room.Problem(), "the disk is full: cannot write x");
  space.free_bytes += int64_t{63} << 20;
  EXPECT_TRUE(room.full());
  space.free_bytes += int64_t{1} << 20;
  EXPECT_EQ(room.Problem(), "");
  EXPECT_TRUE(room.AwaitRoom({}).ok());

  room.Filled("a quota");  // whose end nobody can see
  EXPECT_TRUE(room.full());
  clock.now += Millis(60000);
  EXPECT_FALSE(room.full());
}

TEST(DiskRoomTest, WaitingForRoomCanBeBrokenOff) {
  SetLogLevel(LogLevel::kOff);
  ManualClock clock;
  DiskRoom room([] { return DiskSpace{0, 1 << 20}; }, clock);
  room.Filled("x");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(room.AwaitRoom(stop.get_token()).code(), StatusCode::kCancelled);
}

class DiskFullTest : public ::testing::Test {
 protected:
  DiskFullTest() : disk_(folder_ / "disk", size_t{16} << 20) { SetLogLevel(LogLevel::kOff); }
  ~DiskFullTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  const fs::path folder_ = fs::temp_directory_path() / ("gyre-disk-" + NewId());
  const SmallDisk disk_;
};

TEST_F(DiskFullTest, AWorkerTakesNoJobsWhileItsDiskIsFullSaysSoAndGoesOnByItself) {
  if (!disk_.mounted()) GTEST_SKIP() << "a small disk needs root";
  FakeCoordinator coordinator;
  const WorkerOptions options{.slots = 2, .home = folder_ / "disk", .trainer = GYRE_FAKE_TRAINER};
  auto worker = Worker::Start(options, coordinator.Client());
  ASSERT_TRUE(worker.ok()) << worker.status();
  coordinator.Offer(1, R"(["checkpoint", "wait"])");
  ASSERT_TRUE(coordinator.AwaitCheckpoint(1));
  disk_.Fill();
  coordinator.Offer(2, R"(["disk_full", "point", "wait"])");
  ASSERT_TRUE(coordinator.AwaitPoint(2));
  ASSERT_TRUE(coordinator.AwaitProblem(
      [](const std::string& problem) { return problem == "the disk is full: no room"; }));
  coordinator.Wish({1, 1}, Desire::kStop);  // and a slot is free
  ASSERT_TRUE(coordinator.AwaitEnd(1));
  coordinator.Offer(3, R"(["done"])");
  const int asked = coordinator.Calls("AcquireLease"), beats = coordinator.Calls("Heartbeat");
  ASSERT_TRUE(coordinator.AwaitCalls("Heartbeat", beats + 5));
  EXPECT_EQ(coordinator.Calls("AcquireLease"), asked);
  disk_.Empty();
  ASSERT_TRUE(coordinator.AwaitEnd(3));
  EXPECT_EQ(coordinator.Get(3).end->outcome, Outcome::kSucceeded);
  ASSERT_TRUE(coordinator.AwaitProblem([](const std::string& problem) { return problem.empty(); }));
  EXPECT_FALSE(coordinator.Get(2).end);  // the one that found it full goes on
}

TEST_F(DiskFullTest, AWorkerEndsWhileItsDiskIsFull) {
  if (!disk_.mounted()) GTEST_SKIP() << "a small disk needs root";
  FakeCoordinator coordinator;
  const WorkerOptions options{.slots = 2, .home = folder_ / "disk", .trainer = GYRE_FAKE_TRAINER};
  auto worker = Worker::Start(options, coordinator.Client());
  ASSERT_TRUE(worker.ok()) << worker.status();
  disk_.Fill();
  coordinator.Offer(1, R"(["disk_full", "point", "wait"])");
  ASSERT_TRUE(
      coordinator.AwaitProblem([](const std::string& problem) { return !problem.empty(); }));
  const Millis before = Clock::Real().Now();
  worker->reset();
  EXPECT_LT(Clock::Real().Now() - before, Millis(30000));  // and not when the disk has room
}

TEST_F(DiskFullTest, AFetchWaitsForRoomAndCostsNoAttempt) {
  if (!disk_.mounted()) GTEST_SKIP() << "a small disk needs root";
  ObjectServer server(folder_ / "coordinator");
  const std::string content(size_t{4} << 20, 'x'), hash = Sha256Hex(content);
  server.Write(hash, content);
  JobFiles files(folder_ / "disk", {}, "w", server.Client());
  ASSERT_TRUE(files.SetStore("elsewhere").ok());
  disk_.Fill();
  TrainerJob job;
  job.initial_weights = hash;
  std::jthread fetching([&] {
    const Status status = files.Fetch({.attempt = {1, 1}, .job = ToJson(job).dump()}, {});
    EXPECT_TRUE(status.ok()) << status;
  });
  while (!files.room().full()) std::this_thread::yield();
  disk_.Empty();
  fetching.join();
  EXPECT_TRUE(ObjectStore(files.trainer_home()).Verify({ObjectKind::kObject, hash}).ok());
}

TEST_F(DiskFullTest, AFullDiskAtTheCoordinatorIsWaitedOut) {
  if (!disk_.mounted()) GTEST_SKIP() << "a small disk needs root";
  ObjectServer server(folder_ / "disk");
  const ObjectStore here(folder_ / "here");
  const std::string content(size_t{4} << 20, 'x');
  const ObjectRef ref{ObjectKind::kObject, Sha256Hex(content)};
  fs::create_directories(here.root() / "objects");
  ASSERT_TRUE(WriteFileAtomically(here.PathOf(ref), content).ok());
  const auto client = server.Client();
  disk_.Fill();
  const Status refused = client->Put({ref, {}}, here, {}, {});
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("the disk"));
  disk_.Empty();
  EXPECT_TRUE(SendObject(*client, ref, here, {}, {}).ok());
  EXPECT_TRUE(server.store().Verify(ref).ok());
}

}  // namespace
}  // namespace gyre
