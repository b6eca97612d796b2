// Which device an attempt gets, and that its memory is what counts.

#include <gtest/gtest.h>

#include "coordinator/devices.h"
#include "tests/coordinator/harness.h"

namespace gyre {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

class PlacementTest : public CoordinatorTest {
 protected:
  void Register(std::vector<DeviceRecord> devices) {
    const RegisterCall call{.name = "w",
                            .incarnation = "w1",
                            .protocol = kProtocolVersion,
                            .slots = 8,
                            .cpus = 8,
                            .memory_bytes = 16 * kGiB,
                            .devices = std::move(devices)};
    const auto registered = Get<RegisterReply>(
        [&](const Moment& moment) { return coordinator_->Register(call, moment); });
    ASSERT_TRUE(registered.ok()) << registered.status();
  }
  void SubmitJobs(const std::string& name, int jobs, const Resources& needs) {
    PreparedSweep sweep = MakeSweep(name, 1, jobs);
    for (auto& job : sweep.jobs) job.key = name + job.key;
    sweep.record.resources = needs;
    ASSERT_TRUE(Submit(std::move(sweep)).ok());
  }
  /// The device of the lease that this offer gets; empty without one.
  std::string Ask(const std::string& device, std::vector<std::string> free_gpus) {
    std::optional<LeaseReply> lease;
    const AcquireCall call{"w1", Millis(0), 1, 1, 16 * kGiB, device, std::move(free_gpus)};
    const int64_t offer = ++offers_;
    EXPECT_TRUE(Do([&](const Moment& moment) {
                  return coordinator_->Acquire(
                      offer, call, [&](const std::optional<LeaseReply>& reply) { lease = reply; },
                      moment);
                }).ok());
    return lease ? lease->device : "";
  }

 private:
  int64_t offers_ = 0;
};

const DeviceRecord kCpu{"cpu", "cpu", "Fast 9000", 16 * kGiB};
const DeviceRecord kGpu0{"cuda:0", "cuda", "H200", 100 * kGiB};
const DeviceRecord kGpu1{"cuda:1", "cuda", "H200", 100 * kGiB};

TEST_F(PlacementTest, AnAttemptHasTheDeviceThatWasOffered) {
  Register({kCpu, kGpu0, kGpu1});
  SubmitJobs("any", 2, {});
  EXPECT_EQ(Ask("cuda:1", {"cuda:0"}), "cuda:1");
  EXPECT_EQ(Ask("cpu", {}), "cpu");
  SubmitJobs("two", 1, {.gpus = 2});
  EXPECT_EQ(Ask("cuda:1", {"cuda:1"}), "");
  EXPECT_EQ(Ask("cuda:1", {"cuda:1", "cuda:0"}), "cuda:1,cuda:0");
  EXPECT_EQ(Sql("SELECT device FROM attempts ORDER BY job_id"), "cuda:1; cpu; cuda:1,cuda:0");
}

TEST_F(PlacementTest, WhatJobsOnAGpuNeedIsTakenThereAlone) {
  Register({kCpu, kGpu0, kGpu1});
  SubmitJobs("large", 4, {.memory_bytes = 60 * kGiB});
  EXPECT_EQ(Ask("cpu", {}), "");  // more than the machine has
  EXPECT_EQ(Ask("cuda:0", {}), "cuda:0");
  EXPECT_EQ(Ask("cuda:0", {}), "");
  EXPECT_EQ(Ask("cuda:1", {}), "cuda:1");
  SubmitJobs("small", 1, {.memory_bytes = 10 * kGiB});
  EXPECT_EQ(Ask("cpu", {}), "cpu");
}

TEST(Devices, NamesAreWholeNames) {
  EXPECT_TRUE(HasDevice("cuda:1,cuda:11", "cuda:11"));
  EXPECT_FALSE(HasDevice("cuda:11", "cuda:1"));
  EXPECT_FALSE(HasDevice("", "cuda:1"));
  EXPECT_EQ(DevicesFor(1, "cpu", {"cuda:3", "cuda:0"}), "cuda:3");
}

}  // namespace
}  // namespace gyre
