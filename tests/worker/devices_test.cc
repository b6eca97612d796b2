#include "worker/devices.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/ids.h"
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
  ASSERT_EQ(machine.devices.size(), 1u);
  EXPECT_EQ(machine.devices[0].name, "cpu");
  EXPECT_EQ(machine.devices[0].model, "Fast 9000");
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

TEST_F(DevicesTest, ADeviceThatIsNotThereIsNamedWithThoseThatAre) {
  const Machine machine = ReadMachine(root_);
  EXPECT_TRUE(CheckDevices("cpu", machine).ok());
  EXPECT_EQ(CheckDevices("cpu,cuda:0", machine),
            InvalidArgument("this machine has no device 'cuda:0'; it has: cpu"));
}

}  // namespace
}  // namespace gyre
