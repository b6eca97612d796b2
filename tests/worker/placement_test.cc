#include "worker/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gyre {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const DeviceInfo kCpu{"cpu", "cpu", "Fast 9000"};
const DeviceInfo kGpu0{"cuda:0", "cuda", "H200"};
const DeviceInfo kGpu1{"cuda:1", "cuda", "H200"};

SlotPlan Plan(const std::vector<DeviceInfo>& devices, int slots, int per_gpu, int cores) {
  const auto plan = PlanSlots(devices, slots, per_gpu, cores);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? *plan : SlotPlan{};
}
#define EXPECT_PLAN(plan, wanted_slots, wanted_per_gpu) \
  do {                                                  \
    const SlotPlan made = plan;                         \
    EXPECT_EQ(made.slots, wanted_slots);                \
    EXPECT_EQ(made.per_gpu, wanted_per_gpu);            \
  } while (false)

TEST(PlanSlots, OnTheCpuOneACoreUnlessTheUserSays) {
  EXPECT_PLAN(Plan({kCpu}, 0, 0, 8), 8, 0);
  EXPECT_PLAN(Plan({kCpu}, 3, 0, 8), 3, 0);
  EXPECT_PLAN(Plan({kCpu}, 0, 2, 8), 8, 0);  // the same command on a machine without a GPU
}

TEST(PlanSlots, SeveralAGpuAsFarAsThereAreCores) {
  EXPECT_PLAN(Plan({kGpu0, kGpu1}, 0, 0, 64), 8, 4);
  EXPECT_PLAN(Plan({kGpu0, kGpu1}, 0, 0, 4), 4, 2);
  EXPECT_PLAN(Plan({kGpu0, kGpu1}, 0, 0, 1), 2, 1);
  EXPECT_PLAN(Plan({kGpu0, kGpu1}, 0, 7, 1), 14, 7);
  EXPECT_PLAN(Plan({kGpu0, kCpu}, 0, 0, 16), 16, 4);
  EXPECT_PLAN(Plan({kGpu0, kCpu}, 0, 0, 2), 3, 2);
}

TEST(PlanSlots, JobsAtATimeAreTheUsersChoice) {
  EXPECT_PLAN(Plan({kGpu0, kGpu1}, 1, 0, 64), 1, 1);
  EXPECT_PLAN(Plan({kGpu0, kGpu1}, 16, 0, 4), 16, 8);
  EXPECT_PLAN(Plan({kGpu0, kGpu1}, 3, 4, 4), 3, 4);
  EXPECT_PLAN(Plan({kGpu0, kCpu}, 6, 0, 16), 6, 4);
  EXPECT_EQ(PlanSlots({kGpu0, kGpu1}, 5, 2, 16).status().message(),
            "5 slots are more than the 4 of the GPUs: leave one of --slots and --slots-per-gpu "
            "out, or add cpu to --devices");
}

TEST(Room, SharedByThoseThatAskForNone) {
  const std::vector<DeviceInfo> devices = {kGpu0, kGpu1};
  const SlotPlan plan{4, 2};
  Room room = RoomBeside({}, devices, plan);
  EXPECT_EQ(room.slots, 4);
  EXPECT_EQ(room.device, "cuda:0");
  EXPECT_THAT(room.free_gpus, ElementsAre("cuda:0", "cuda:1"));
  room = RoomBeside({{"cuda:0"}}, devices, plan);
  EXPECT_EQ(room.slots, 3);
  EXPECT_EQ(room.device, "cuda:1");
  EXPECT_THAT(room.free_gpus, ElementsAre("cuda:1"));
  room = RoomBeside({{"cuda:0"}, {"cuda:1"}, {"cuda:0"}}, devices, plan);
  EXPECT_EQ(room.slots, 1);
  EXPECT_EQ(room.device, "cuda:1");
  EXPECT_THAT(room.free_gpus, IsEmpty());
  room = RoomBeside({{"cuda:0"}, {"cuda:1"}, {"cuda:0"}, {"cuda:1"}}, devices, plan);
  EXPECT_EQ(room.slots, 0);
  EXPECT_EQ(room.device, "");
}

TEST(Room, NobodyIsBesideAJobThatAskedForGpus) {
  const std::vector<DeviceInfo> devices = {kGpu0, kGpu1};
  const SlotPlan plan{4, 2};
  Room room = RoomBeside({{"cuda:0", true}}, devices, plan);
  EXPECT_EQ(room.slots, 2);
  EXPECT_EQ(room.device, "cuda:1");
  EXPECT_THAT(room.free_gpus, ElementsAre("cuda:1"));
  room = RoomBeside({{"cuda:1,cuda:0", true}}, devices, plan);
  EXPECT_EQ(room.slots, 0);
  EXPECT_THAT(room.free_gpus, IsEmpty());
}

TEST(Room, TheCpuTakesWhatTheGpusHaveNoRoomFor) {
  const std::vector<DeviceInfo> devices = {kCpu, kGpu0};
  const SlotPlan plan{3, 1};
  EXPECT_EQ(RoomBeside({}, devices, plan).device, "cuda:0");
  EXPECT_EQ(RoomBeside({}, devices, plan).slots, 3);
  EXPECT_EQ(RoomBeside({{"cuda:0"}}, devices, plan).device, "cpu");
  EXPECT_EQ(RoomBeside({{"cuda:0"}, {"cpu"}}, devices, plan).slots, 1);
  EXPECT_EQ(RoomBeside({{"cpu"}, {"cpu"}}, devices, plan).device, "cuda:0");
  EXPECT_EQ(RoomBeside({{"cuda:0"}, {"cpu"}, {"cpu"}}, devices, plan).slots, 0);
  EXPECT_THAT(RoomBeside({{"cpu"}}, {kCpu}, {2, 0}).free_gpus, IsEmpty());
}

}  // namespace
}  // namespace gyre
