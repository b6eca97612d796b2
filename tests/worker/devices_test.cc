#include "worker/devices.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/machine.h"

namespace gyre {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

// A machine made of files.
class DevicesTest : public ::testing::Test {
 protected:
  DevicesTest() : root_(std::filesystem::temp_directory_path() / ("gyre-devices-" + NewId())) {
    Put("proc/cpuinfo",
        "processor\t: 0\nmodel name\t: Fast 9000\nprocessor\t: 1\nmodel name\t: Fast 9000\n");
    Put("proc/meminfo", "MemTotal:       8388608 kB\nMemFree: 1 kB\nMemAvailable:    4194304 kB\n");
    Put("proc/self/status", "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-5,8,9\n");
    Put("proc/vmstat", "nr_free_pages 7\noom_kill 3\n");
  }
  ~DevicesTest() override { std::filesystem::remove_all(root_); }

  void Put(const std::filesystem::path& file, const std::string& text) {
    ASSERT_TRUE(MakeFolders((root_ / file).parent_path()).ok());
    ASSERT_TRUE(WriteFileAtomically(root_ / file, text).ok());
  }

  const std::filesystem::path root_;
};

TEST_F(DevicesTest, CoresAndMemoryOfTheMachine) {
  const Machine machine = ReadMachine(root_);
  EXPECT_EQ(machine.cores, 8);
  EXPECT_EQ(machine.memory_bytes, 8 * kGiB);
  EXPECT_EQ(machine.cpu.name, "cpu");
  EXPECT_EQ(machine.cpu.model, "Fast 9000");
  EXPECT_EQ(machine.cpu.memory_bytes, 8 * kGiB);
  EXPECT_EQ(AvailableMemoryBytes(root_), 4 * kGiB);
  EXPECT_EQ(OutOfMemoryKills(root_), 3);
}

TEST_F(DevicesTest, ListsOfNumbersAreTheSystems) {
  EXPECT_EQ(UsableProcessors(root_), (std::vector<int>{0, 1, 2, 3, 4, 5, 8, 9}));
  EXPECT_EQ(NumbersOfList("7\n"), std::vector<int>{7});
  EXPECT_EQ(NumbersOfList(" 2-3,5,9-8,x,4-"), (std::vector<int>{2, 3, 5}));
  EXPECT_EQ(NumbersOfList(""), std::vector<int>());
  EXPECT_EQ(NumbersOfList("0-99999999999"), std::vector<int>());
}

TEST_F(DevicesTest, TheTightestGroupLimitHolds) {
  Put("proc/self/cgroup", "0::/outer/inner\n");
  Put("sys/fs/cgroup/outer/cpu.max", "250000 100000\n");
  Put("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  Put("sys/fs/cgroup/outer/inner/memory.max", "1073741824\n");
  Put("sys/fs/cgroup/outer/inner/memory.current", "268435456\n");
  const Machine machine = ReadMachine(root_);
  EXPECT_EQ(machine.cores, 3);
  EXPECT_EQ(machine.memory_bytes, kGiB);
  EXPECT_EQ(AvailableMemoryBytes(root_), kGiB * 3 / 4);
  // Files that were read are no reason to say that there is none.
  Put("sys/fs/cgroup/outer/inner/memory.current", "1073741824\n");
  Put("sys/fs/cgroup/outer/inner/memory.stat",
      "anon 536870912\nfile 536870912\ninactive_file 268435456\nactive_file 268435456\n");
  EXPECT_EQ(AvailableMemoryBytes(root_), kGiB / 2);
}

TEST_F(DevicesTest, OldGroupsLimitToo) {
  Put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
  Put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  Put("sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
  EXPECT_EQ(ReadMachine(root_).cores, 2);
  EXPECT_EQ(ReadMachine(root_).memory_bytes, 2 * kGiB);
}

TEST_F(DevicesTest, NothingReadableIsOneCore) {
  const Machine machine = ReadMachine(root_ / "nowhere");
  EXPECT_EQ(machine.cores, 1);
  EXPECT_EQ(machine.memory_bytes, 0);
}

class ChooseDevicesTest : public ::testing::Test {
 protected:
  std::string Choose(const std::string& wanted) {
    const auto devices = ChooseDevices(wanted, {"cpu", "cpu", "Fast 9000", kGiB}, report_);
    if (!devices.ok()) return devices.status().ToString();
    std::string names;
    for (const DeviceInfo& device : *devices) names += (names.empty() ? "" : " ") + device.name;
    return names;
  }
  std::string Describe(const std::string& wanted) {
    return DescribeChoice(*ChooseDevices(wanted, {"cpu", "cpu", "Fast 9000", kGiB}, report_),
                          report_);
  }
  GpuReport report_;
};

TEST_F(ChooseDevicesTest, OfAMachineWithGpus) {
  report_.gpus = {{"cuda:0", "H200", "9.0", 141 * kGiB, 140 * kGiB, ""},
                  {"cuda:1", "V100", "7.0", 32 * kGiB, 0, "it has compute capability 7.0"},
                  {"cuda:2", "H200", "9.0", 141 * kGiB, 140 * kGiB, ""}};
  EXPECT_EQ(Choose("auto"), "cuda:0 cuda:2");
  EXPECT_EQ(Choose("cuda"), "cuda:0 cuda:2");
  EXPECT_EQ(Choose("cpu"), "cpu");
  EXPECT_EQ(Choose("cuda:2, cpu"), "cuda:2 cpu");
  EXPECT_EQ(Choose("cuda:2,cuda,cuda:2"), "cuda:2 cuda:0");
  EXPECT_EQ(Choose("cuda:3"),
            "INVALID_ARGUMENT: there is no cuda:3; this machine has cuda:0, cuda:1, cuda:2");
  EXPECT_EQ(Choose("cuda:1"),
            "INVALID_ARGUMENT: cuda:1 cannot be used: it has compute capability 7.0");
  EXPECT_EQ(Describe("auto"), "cuda:0 (H200), cuda:2 (H200)");
}

TEST_F(ChooseDevicesTest, WithoutAGpuTheCpuUnlessOneWasAskedFor) {
  report_.absent = "no NVIDIA driver is installed";
  EXPECT_EQ(Choose("auto"), "cpu");
  EXPECT_EQ(Describe("auto"), "no GPU: no NVIDIA driver is installed; jobs train on the CPU");
  EXPECT_EQ(Choose("cuda"), "INVALID_ARGUMENT: there is no cuda: no NVIDIA driver is installed");
  EXPECT_EQ(Choose("cpu,cuda:0"),
            "INVALID_ARGUMENT: there is no cuda:0: no NVIDIA driver is installed");
  report_ = {.gpus = {{"cuda:0", "V100", "7.0", 32 * kGiB, 0, "it is too old"}}};
  EXPECT_EQ(Choose("auto"), "cpu");
  EXPECT_EQ(Choose("cuda"),
            "INVALID_ARGUMENT: no GPU of this machine can be used: cuda:0: it is too old");
  EXPECT_EQ(Describe("auto"),
            "no GPU: cuda:0 cannot be used: it is too old; jobs train on the CPU");
}

TEST_F(ChooseDevicesTest, ThoseThatAreGoneAreNamedWithTheReason) {
  const DeviceInfo cpu{"cpu", "cpu", "Fast 9000", kGiB};
  const DeviceInfo first{"cuda:0", "cuda", "H200", 0}, second{"cuda:1", "cuda", "H200", 0};
  std::vector<DeviceInfo> devices = {cpu, first, second};
  report_.gpus = {{"cuda:0"}, {"cuda:1"}};
  EXPECT_EQ(RemoveLost(report_, &devices), "");
  report_.gpus[1].unusable = "it has burnt";
  EXPECT_EQ(RemoveLost(report_, &devices), "cuda:1 is gone: it has burnt");
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[1].name, "cuda:0");
  devices = {first, second};
  EXPECT_EQ(RemoveLost({.absent = "the driver hangs", .answered = false}, &devices),
            "cuda:0, cuda:1 are gone: the driver hangs");
  EXPECT_TRUE(devices.empty());
}

TEST_F(ChooseDevicesTest, WhatIsNoListOfDevicesIsSaid) {
  for (const char* wanted : {"", ",", "gpu", "cuda:", "cuda:x", "cuda:-1", "cpu,auto", "cuda:9999",
                             "cpu;cuda", "CUDA"}) {
    EXPECT_TRUE(Choose(wanted).starts_with("INVALID_ARGUMENT: '")) << wanted;
  }
}

TEST_F(DevicesTest, TheTrainerIsAskedWhereThereMayBeAGpu) {
  SetLogLevel(LogLevel::kOff);
  const auto asks = [&](const std::string& wanted) {
    return !AskIfWanted(wanted, "/nowhere/trainer", root_).answered;
  };
  EXPECT_FALSE(asks("cpu"));
  EXPECT_FALSE(asks("auto"));
  EXPECT_EQ(AskIfWanted("auto", "/nowhere/trainer", root_).absent, "no NVIDIA driver is installed");
  EXPECT_TRUE(asks("cuda"));
  EXPECT_TRUE(asks("cpu,cuda:1"));
  Put("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06");
  EXPECT_TRUE(asks("auto"));
}

}  // namespace
}  // namespace gyre
