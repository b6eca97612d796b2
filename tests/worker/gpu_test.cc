// A worker on a machine with GPUs, which its trainer makes up.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/files.h"
#include "base/ids.h"
#include "base/log.h"
#include "tests/worker/fake_coordinator.h"
#include "worker/agent.h"
#include "worker/gpu_report.h"

namespace gyre {
namespace {

using ::testing::HasSubstr;

constexpr char kTwoGpus[] = R"({"gpus": [
  {"name": "cuda:0", "model": "H200", "compute_capability": "9.0", "memory_bytes": 100,
   "free_bytes": 90, "unusable": ""},
  {"name": "cuda:1", "model": "H200", "compute_capability": "9.0", "memory_bytes": 100,
   "free_bytes": 90, "unusable": ""}],
  "absent": "", "driver": "13.0", "runtime": "13.0", "libraries": "cuBLASLt 13.0"})";

class GpuTest : public ::testing::Test {
 protected:
  GpuTest() {
    SetLogLevel(LogLevel::kOff);
    options_.home = std::filesystem::temp_directory_path() / ("gyre-gpu-" + NewId());
    options_.trainer = GYRE_FAKE_TRAINER;
    options_.slots_per_gpu = 2;
    options_.cpus = 8;
    options_.affinity.clear();
    options_.exit_grace = Millis(1000);
    setenv("FAKE_TRAINER_DEVICES", kTwoGpus, 1);
    setenv("GYRE_CUDA_PLUGIN", "made up", 1);  // what has the trainer asked
  }
  ~GpuTest() override {
    unsetenv("FAKE_TRAINER_DEVICES");
    unsetenv("GYRE_CUDA_PLUGIN");
    if (worker_ != nullptr) worker_->Shutdown(Millis(0));
    std::filesystem::remove_all(options_.home);
  }

  void Start() {
    auto worker = Worker::Start(options_, coordinator_.Client());
    ASSERT_TRUE(worker.ok()) << worker.status();
    worker_ = *std::move(worker);
  }
  void Offer(int64_t job_id, const std::string& script, int gpus = 0) {
    coordinator_.OfferLease({.attempt = {job_id, 1},
                             .sweep = "s",
                             .variant = "v",
                             .job = R"({"script": )" + script + "}",
                             .gpus = gpus});
  }
  /// Once it has been leased.
  std::string DeviceOf(int64_t job_id) {
    EXPECT_TRUE(coordinator_.Await([&] { return !coordinator_.Seen(job_id).device.empty(); }));
    return coordinator_.Get(job_id).device;
  }
  std::string PidOf(int64_t job_id) {
    coordinator_.Await([&] {
      const std::string& log = coordinator_.Seen(job_id).log;
      return log.find("pid ") != std::string::npos && log.back() == '\n';
    });
    const std::string log = coordinator_.Get(job_id).log;
    const size_t begin = log.find("pid ");
    return begin == std::string::npos ? "" : log.substr(begin, log.find('\n') - begin);
  }

  WorkerOptions options_;
  FakeCoordinator coordinator_;
  std::unique_ptr<Worker> worker_;
};

TEST_F(GpuTest, AJobRunsOnAGpuAndItsFingerprintIsTheGpus) {
  Offer(1, R"(["point", "done"])");
  Start();
  ASSERT_TRUE(coordinator_.AwaitEnd(1));
  EXPECT_EQ(DeviceOf(1), "cuda:0");
  EXPECT_EQ(coordinator_.Get(1).batches[0].fingerprint, R"({"backend":"cuda:0","threads":1})");
  EXPECT_EQ(coordinator_.Get(1).end->fingerprint, R"({"backend":"cuda:0","threads":1})");
  const Registration registration = coordinator_.LastRegistration();
  EXPECT_EQ(registration.slots, 4);
  ASSERT_EQ(registration.devices.size(), 2u);
  EXPECT_EQ(registration.devices[1].name, "cuda:1");
  EXPECT_EQ(registration.devices[1].kind, "cuda");
  EXPECT_EQ(registration.devices[1].model, "H200");
  EXPECT_EQ(registration.devices[1].memory_bytes, 100);
}

TEST_F(GpuTest, JobsSpreadOverTheGpusAndShareThem) {
  for (int job = 1; job <= 4; ++job) Offer(job, R"(["point", "wait"])");
  Start();
  EXPECT_EQ(DeviceOf(1), "cuda:0");
  EXPECT_EQ(DeviceOf(2), "cuda:1");
  EXPECT_EQ(DeviceOf(3), "cuda:0");
  EXPECT_EQ(DeviceOf(4), "cuda:1");
}

TEST_F(GpuTest, AJobThatAsksForAGpuWaitsForOneOfItsOwnAndKeepsIt) {
  Offer(1, R"(["point", "wait"])");
  Offer(2, R"(["point", "wait"])", /*gpus=*/1);
  Offer(3, R"(["point", "wait"])");
  Start();
  EXPECT_EQ(DeviceOf(1), "cuda:0");
  EXPECT_EQ(DeviceOf(2), "cuda:1");
  EXPECT_EQ(DeviceOf(3), "cuda:0");
  ASSERT_TRUE(coordinator_.AwaitPoint(3));
  Offer(4, R"(["point", "done"])", /*gpus=*/2);
  coordinator_.Wish({1, 1}, Desire::kStop);
  coordinator_.Wish({2, 1}, Desire::kStop);
  ASSERT_TRUE(coordinator_.AwaitEnd(1) && coordinator_.AwaitEnd(2));
  EXPECT_EQ(coordinator_.Get(4).device, "");  // the third is still there
  coordinator_.Wish({3, 1}, Desire::kStop);
  EXPECT_EQ(DeviceOf(4), "cuda:0,cuda:1");
}

TEST_F(GpuTest, AfterAFailureOnAGpuTheNextJobHasANewTrainer) {
  options_.slots = 1;
  Offer(1, R"(["point", "done"])");
  Offer(2, R"(["point", "error"])");
  Offer(3, R"(["point", "done"])");
  Start();
  for (int job = 1; job <= 3; ++job) ASSERT_TRUE(coordinator_.AwaitEnd(job));
  EXPECT_EQ(coordinator_.Get(2).end->outcome, Outcome::kFailed);
  EXPECT_EQ(coordinator_.Get(2).end->error, NotFound("no data set"));
  EXPECT_EQ(PidOf(1), PidOf(2));
  EXPECT_NE(PidOf(2), PidOf(3));
}

// Else it would take one job after another and fail them all.
TEST_F(GpuTest, AGpuThatIsGoneGetsNoMoreJobs) {
  const std::filesystem::path file = options_.home / "devices.json";
  ASSERT_TRUE(MakeFolders(options_.home).ok());
  ASSERT_TRUE(WriteFileAtomically(file, kTwoGpus).ok());
  setenv("FAKE_TRAINER_DEVICES", file.c_str(), 1);
  Offer(1, R"(["point", "wait"])");
  Start();
  EXPECT_EQ(DeviceOf(1), "cuda:0");
  std::string one = kTwoGpus;
  one.replace(one.find("cuda:1"), 6, "cuda:9");
  ASSERT_TRUE(WriteFileAtomically(file, one).ok());
  Offer(2, R"(["point", "lost"])");
  EXPECT_EQ(DeviceOf(2), "cuda:1");
  ASSERT_TRUE(coordinator_.AwaitEnd(2));
  EXPECT_EQ(coordinator_.Get(2).end->error, Unavailable("fallen off the bus"));
  EXPECT_TRUE(coordinator_.AwaitProblem([](const std::string& problem) {
    return problem == "cuda:1 is gone; no job is trained there until this worker is started anew";
  }));
  Offer(3, R"(["point", "done"])");
  EXPECT_EQ(DeviceOf(3), "cuda:0");
}

TEST_F(GpuTest, AGpuThatIsNotThereEndsTheWorkerThatWasToldToUseIt) {
  options_.devices = "cuda:0,cuda:7";
  EXPECT_EQ(Worker::Start(options_, coordinator_.Client()).status(),
            InvalidArgument("there is no cuda:7; this machine has cuda:0, cuda:1"));
  options_.devices = "auto";
  setenv("FAKE_TRAINER_DEVICES", "it is broken", 1);
  Start();
  EXPECT_EQ(worker_->Wait([] {
    std::stop_source stop;
    stop.request_stop();
    return stop.get_token();
  }()),
            OkStatus());
  ASSERT_TRUE(coordinator_.AwaitCalls("Register", 1));
  ASSERT_EQ(coordinator_.LastRegistration().devices.size(), 1u);
  EXPECT_EQ(coordinator_.LastRegistration().devices[0].name, "cpu");
}

TEST(GpuReport, ATrainerThatHangsInTheDriverIsLeftBehind) {
  setenv("FAKE_TRAINER_DEVICES", "hang", 1);
  const GpuReport report = AskForGpus(GYRE_FAKE_TRAINER, Millis(100));
  unsetenv("FAKE_TRAINER_DEVICES");
  EXPECT_FALSE(report.answered);
  EXPECT_THAT(report.absent, HasSubstr("fake_trainer devices did not answer within 0 s"));
}

TEST(GpuReport, WhatIsNoReportIsSaidWithTheTrainersWords) {
  setenv("FAKE_TRAINER_DEVICES", "{\"gpus\": [{}]}", 1);
  const GpuReport report = AskForGpus(GYRE_FAKE_TRAINER, Millis(20000));
  unsetenv("FAKE_TRAINER_DEVICES");
  EXPECT_FALSE(report.answered);
  EXPECT_EQ(report.absent, "fake_trainer devices exited with code 0: devices were asked for");
  EXPECT_FALSE(AskForGpus("/nowhere/trainer", Millis(1000)).answered);
  for (const char* text : {"", "7", "{}", R"({"gpus": 3})", R"({"gpus": [7]})"}) {
    EXPECT_FALSE(ParseGpuReport(text).ok()) << text;
  }
}

TEST(GpuReport, EveryFieldIsRead) {
  const auto report = ParseGpuReport(kTwoGpus);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->gpus.size(), 2u);
  EXPECT_EQ(report->gpus[1].name, "cuda:1");
  EXPECT_EQ(report->gpus[1].compute_capability, "9.0");
  EXPECT_EQ(report->gpus[1].free_bytes, 90);
  EXPECT_EQ(report->driver, "13.0");
  EXPECT_EQ(report->libraries, "cuBLASLt 13.0");
  EXPECT_TRUE(report->answered);
}

}  // namespace
}  // namespace gyre
