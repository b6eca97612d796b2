#include "worker/processors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/files.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/machine.h"
#include "tests/worker/fake_coordinator.h"
#include "worker/agent.h"

namespace gyre {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string ListOf(const std::filesystem::path& status) {
  std::ifstream lines(status);
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kKey = "Cpus_allowed_list:\t";
    if (line.starts_with(kKey)) return line.substr(kKey.size());
  }
  return "";
}

/// Where each thread of a process may run.
std::vector<std::vector<int>> ThreadsOf(int pid) {
  std::vector<std::vector<int>> threads;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    threads.push_back(NumbersOfList(ListOf(entry.path() / "status")));
  }
  return threads;
}

// A machine made of files: two packages of two cores, of two processors each.
class MachineOfFiles : public ::testing::Test {
 protected:
  MachineOfFiles() : root_(std::filesystem::temp_directory_path() / ("gyre-cores-" + NewId())) {
    const char* siblings[] = {"0,4", "1,5", "2,6", "3,7"};
    for (int processor = 0; processor < 8; ++processor) {
      const std::string topology =
          "sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/";
      Put(topology + "thread_siblings_list", std::string(siblings[processor % 4]) + "\n");
      Put(topology + "physical_package_id", processor % 2 == 0 ? "0\n" : "1\n");
    }
    Allow("0-7");
  }
  ~MachineOfFiles() override { std::filesystem::remove_all(root_); }
  void Put(const std::string& file, const std::string& text) {
    ASSERT_TRUE(MakeFolders((root_ / file).parent_path()).ok());
    ASSERT_TRUE(WriteFileAtomically(root_ / file, text).ok());
  }
  void Allow(const std::string& list) {
    Put("proc/self/status", "Name:\tx\nCpus_allowed_list:\t" + list + "\n");
  }
  const std::filesystem::path root_;
};

TEST_F(MachineOfFiles, JobsGetWholeCoresFirstAndThoseOfAPackageTogether) {
  EXPECT_THAT(ProcessorsForJobs(root_), ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
}

TEST_F(MachineOfFiles, OnlyWhatIsAllowed) {
  Allow("2-3,6");
  EXPECT_THAT(ProcessorsForJobs(root_), ElementsAre(2, 3, 6));
}

TEST_F(MachineOfFiles, WithAQuotaOfTimeNobodyKnowsWhichAreFree) {
  Put("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_THAT(ProcessorsForJobs(root_), IsEmpty());
}

TEST_F(MachineOfFiles, AMachineThatTellsNothing) {
  std::filesystem::remove_all(root_ / "sys");
  EXPECT_THAT(ProcessorsForJobs(root_), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  std::filesystem::remove_all(root_ / "proc");
  EXPECT_THAT(ProcessorsForJobs(root_), IsEmpty());
}

TEST(ProcessorClaim, AProcessorIsOneJobsAtATime) {
  const std::string owner = "test-" + NewId();
  const std::vector<int> all = {4, 2, 7};
  ProcessorClaim first = ProcessorClaim::Make(all, 1, owner);
  EXPECT_THAT(first.processors(), ElementsAre(4));
  EXPECT_THAT(ProcessorClaim::Make(all, 3, owner).processors(), IsEmpty());
  ProcessorClaim second = ProcessorClaim::Make(all, 2, owner);  // what was too few is free again
  EXPECT_THAT(second.processors(), ElementsAre(2, 7));
  EXPECT_THAT(ProcessorClaim::Make(all, 1, owner).processors(), IsEmpty());
  EXPECT_THAT(ProcessorClaim::Make(all, 3, owner + "2").processors(), SizeIs(3));
  first = ProcessorClaim();
  EXPECT_THAT(ProcessorClaim::Make(all, 1, owner).processors(), ElementsAre(4));
  const ProcessorClaim moved = std::move(second);
  EXPECT_THAT(moved.processors(), ElementsAre(2, 7));
  EXPECT_THAT(ProcessorClaim::Make(all, 2, owner).processors(), IsEmpty());
}

TEST(ProcessorClaim, EndsWithItsProcess) {
  const std::string owner = "test-" + NewId();
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const ProcessorClaim claim = ProcessorClaim::Make({0}, 1, owner);
    if (write(ready[1], "x", 1) != 1) _exit(1);
    pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_THAT(ProcessorClaim::Make({0}, 1, owner).processors(), IsEmpty());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_THAT(ProcessorClaim::Make({0}, 1, owner).processors(), ElementsAre(0));
  close(ready[0]);
  close(ready[1]);
}

TEST(RunOn, ProcessorsThatAreNotThereAreAnError) {
  EXPECT_FALSE(RunOn(getpid(), {60000}).ok());
  EXPECT_FALSE(RunOn(-1, {0}).ok());
}

// Jobs that wait in real children of a worker.
class AffinityTest : public ::testing::Test {
 protected:
  AffinityTest() : all_(UsableProcessors()) {
    SetLogLevel(LogLevel::kOff);
    options_.home = std::filesystem::temp_directory_path() / ("gyre-affinity-" + NewId());
    options_.trainer = GYRE_FAKE_TRAINER;
    options_.slots = options_.cpus = 2;
    options_.affinity = "test-" + NewId();
  }
  ~AffinityTest() override { std::filesystem::remove_all(options_.home); }
  void SetUp() override {
    if (ProcessorsForJobs().size() < 2) GTEST_SKIP() << "not two processors of its own";
  }

  std::unique_ptr<Worker> Start() {
    auto worker = Worker::Start(options_, coordinator_.Client());
    EXPECT_TRUE(worker.ok()) << worker.status();
    return *std::move(worker);
  }
  void Offer(int64_t job, int cpus = 1) {
    coordinator_.Offer(job, R"(["log:1", "point", "wait"])", cpus);
  }
  // Of its trainer's threads, while the job runs.
  std::vector<std::vector<int>> ThreadsOfJob(int64_t job) {
    EXPECT_TRUE(coordinator_.Await(
        [&] { return coordinator_.Seen(job).log.find("pid ") != std::string::npos; }));
    const std::string log = coordinator_.Get(job).log;
    return ThreadsOf(std::atoi(log.c_str() + log.find("pid ") + 4));
  }

  const std::vector<int> all_;
  WorkerOptions options_;
  FakeCoordinator coordinator_;
};

TEST_F(AffinityTest, EachJobKeepsToProcessorsOfItsOwn) {
  Offer(1);
  Offer(2);
  const auto worker = Start();
  std::vector<int> used;
  for (const int64_t job : {1, 2}) {
    const auto threads = ThreadsOfJob(job);
    ASSERT_GE(threads.size(), 2u);  // the training one and the reading one
    for (const auto& thread : threads) EXPECT_EQ(thread, threads[0]);
    ASSERT_THAT(threads[0], SizeIs(1));
    used.push_back(threads[0][0]);
  }
  EXPECT_NE(used[0], used[1]);
}

TEST_F(AffinityTest, AnotherWorkersJobsAreLeftAlone) {
  const ProcessorClaim other =
      ProcessorClaim::Make(all_, static_cast<int>(all_.size()) - 1, options_.affinity);
  Offer(1);
  const auto worker = Start();
  const auto threads = ThreadsOfJob(1);
  ASSERT_THAT(threads[0], SizeIs(1));
  EXPECT_THAT(other.processors(), ::testing::Not(::testing::Contains(threads[0][0])));
  Offer(2);  // finds none free
  for (const auto& thread : ThreadsOfJob(2)) EXPECT_EQ(thread, all_);
}

TEST_F(AffinityTest, WhatAJobHadIsFreeForTheNextWhichMayHaveMore) {
  coordinator_.Offer(1, R"(["log:1", "point", "done"])");
  const auto worker = Start();
  ASSERT_TRUE(coordinator_.AwaitEnd(1));
  {
    const ProcessorClaim all =
        ProcessorClaim::Make(all_, static_cast<int>(all_.size()), options_.affinity);
    EXPECT_EQ(all.processors(), all_);
  }
  Offer(2, 2);
  for (const auto& thread : ThreadsOfJob(2)) EXPECT_THAT(thread, SizeIs(2));
}

TEST_F(AffinityTest, NoneWhereMoreIsOfferedThanThereIsOrNobodyWantsIt) {
  options_.slots = options_.cpus = static_cast<int>(all_.size()) + 1;
  Offer(1);
  auto worker = Start();
  for (const auto& thread : ThreadsOfJob(1)) EXPECT_EQ(thread, all_);
  worker.reset();
  options_.slots = options_.cpus = 1;
  options_.affinity.clear();
  Offer(2);
  worker = Start();
  for (const auto& thread : ThreadsOfJob(2)) EXPECT_EQ(thread, all_);
}

}  // namespace
}  // namespace gyre
