// Orderly ends over real processes: a worker that is told to stop, a sweep that is canceled, a
// coordinator that goes away for a while.

#include <signal.h>

#include <vector>

#include "tests/integration/cluster.h"

namespace gyre {
namespace {

class StopTest : public ClusterTest {
 protected:
  StopTest() {
    StartCoordinator();
    StartWorker(0);
    EXPECT_TRUE(Await([&] { return Submit(WriteSweep("wheel")) == 0; }));
    EXPECT_TRUE(AwaitMorePoints(20));
  }
};

TEST_F(StopTest, AWorkersStopIsNoLossAndItsJobGoesOnElsewhere) {
  workers_[0].Signal(SIGTERM);
  EXPECT_EQ(workers_[0].Wait(kDeadline), 0);
  EXPECT_EQ(Count("attempts WHERE state = 'STOPPED'"), 1);
  EXPECT_EQ(Count("attempts WHERE state = 'LOST'"), 0);
  StartWorker(1);
  EXPECT_TRUE(Await([&] {
    return Count(
               "attempts a JOIN workers w ON w.id = a.worker_id "
               "WHERE w.name = 'w1' AND a.number = 2 AND a.resumed_from_step > 0") == 1;
  }));
}

TEST_F(StopTest, ACanceledSweepsTrainersStopAndTheWorkerTakesOtherWork) {
  EXPECT_EQ(
      Gyre({"cancel", "wheel", "--coordinator", address_}, "home", "cancel.log").Wait(kDeadline),
      0);
  EXPECT_TRUE(Await([&] { return Count("jobs WHERE state = 'CANCELED'") == kJobs; }));
  EXPECT_TRUE(Await([&] { return Count("attempts WHERE state = 'STOPPED'") == 1; }));
  EXPECT_EQ(Submit(WriteSweep("next")), 0);
  EXPECT_TRUE(Await([&] { return Count("attempts WHERE state = 'SUCCEEDED'") >= 1; }));
}

// skypilot-org/skypilot#10155, skypilot-org/skypilot#10157: a control plane that cannot be reached
// costs a healthy job. skypilot-org/skypilot#6133: what finished meanwhile is run again.
TEST_F(StopTest, TrainingGoesOnWhileTheCoordinatorIsAwayAndNothingIsLost) {
  const std::vector<int> trainers = ChildrenOf(workers_[0].pid());
  coordinator_->Signal(SIGTERM);
  EXPECT_EQ(coordinator_->Wait(kDeadline), 0);
  StartCoordinator();
  EXPECT_TRUE(AwaitMorePoints(500));
  EXPECT_EQ(Count("attempts WHERE state = 'LOST'"), 0);
  EXPECT_EQ(ChildrenOf(workers_[0].pid()), trainers);
}

}  // namespace
}  // namespace gyre
