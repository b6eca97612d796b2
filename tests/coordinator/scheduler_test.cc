// Every test compares the whole answer, so that it also says what was not decided.

#include "coordinator/scheduler.h"

#include <gtest/gtest.h>

#include <ostream>

namespace gyre {

void PrintTo(const Decisions& decisions, std::ostream* out) {
  for (const EndedLease& lease : decisions.suspected)
    *out << " suspected " << lease.job << "#" << lease.attempt;
  for (const EndedLease& lease : decisions.expired)
    *out << " expired " << lease.job << "#" << lease.attempt;
  for (const EndedLease& lease : decisions.timed_out)
    *out << " timed out " << lease.job << "#" << lease.attempt;
  for (const int64_t worker : decisions.gone) *out << " gone " << worker;
  for (const Grant& grant : decisions.grants)
    *out << " grant " << grant.job << " to " << grant.offer;
  for (const int64_t offer : decisions.unanswered) *out << " unanswered " << offer;
  if (decisions.next) *out << " next " << decisions.next->count();
}

namespace {

constexpr Millis kNow{1000};
constexpr Millis kLater{5000};

class SchedulerTest : public testing::Test {
 protected:
  struct Queue {
    std::set<int64_t> ready;
    std::map<int64_t, Millis> delayed;
  };

  QueueView& AddSweep(int64_t sweep, std::set<int64_t> ready,
                      std::map<int64_t, Millis> delayed = {}) {
    Queue& queue = queues_[sweep] = {std::move(ready), std::move(delayed)};
    view_.queues.push_back({sweep, 0, SweepIntent::kActive, {}, &queue.ready, &queue.delayed});
    return view_.queues.back();
  }
  OfferView& AddOffer(int64_t offer) {
    view_.offers.push_back({offer, /*worker=*/offer * 10, 1, 4, 1 << 30, kLater});
    return view_.offers.back();
  }

  SchedulerView view_;
  std::map<int64_t, Queue> queues_;
};

TEST_F(SchedulerTest, NothingToDoIsNothingDone) { EXPECT_EQ(Decide(view_, kNow), Decisions{}); }

TEST_F(SchedulerTest, OneJobAnOfferInOrderOfIds) {
  AddSweep(1, {7, 5, 6});
  AddOffer(1);
  AddOffer(2);
  EXPECT_EQ(Decide(view_, kNow), (Decisions{.grants = {{1, 5}, {2, 6}}}));
}

TEST_F(SchedulerTest, PriorityThenAgeOfTheSweep) {
  AddSweep(2, {20});
  AddSweep(1, {10});
  AddSweep(3, {30}).priority = 5;
  AddOffer(1);
  AddOffer(2);
  AddOffer(3);
  EXPECT_EQ(Decide(view_, kNow), (Decisions{.grants = {{1, 30}, {2, 10}, {3, 20}}}));
}

TEST_F(SchedulerTest, PausedAndCanceledSweepsGetNothing) {
  AddSweep(1, {10}, {{11, Millis(0)}}).intent = SweepIntent::kPaused;
  AddSweep(2, {20}, {{21, kLater}}).intent = SweepIntent::kCanceled;
  AddOffer(1).ends_at = Millis(9000);
  EXPECT_EQ(Decide(view_, kNow), (Decisions{.next = Millis(9000)}));
}

TEST_F(SchedulerTest, AJobThatDoesNotFitLetsTheOthersPass) {
  AddSweep(1, {10}).needs.cpus = 8;
  AddSweep(2, {20}).needs.memory_bytes = int64_t{1} << 40;
  AddSweep(3, {30}).needs.gpus = 1;
  AddSweep(4, {40});
  AddOffer(1);
  AddOffer(2).ends_at = Millis(2000);
  EXPECT_EQ(Decide(view_, kNow), (Decisions{.grants = {{1, 40}}, .next = Millis(2000)}));
}

TEST_F(SchedulerTest, AWorkerThatCannotTellItsMemoryGetsJobs) {
  AddSweep(1, {10}).needs.memory_bytes = int64_t{1} << 40;
  AddOffer(1).memory_bytes = 0;
  EXPECT_EQ(Decide(view_, kNow), (Decisions{.grants = {{1, 10}}}));
}

TEST_F(SchedulerTest, TheOfferThatFitsGetsTheBigJob) {
  AddSweep(1, {10}).needs.cpus = 8;
  AddOffer(1);
  AddOffer(2).cpus = 8;
  EXPECT_EQ(Decide(view_, kNow), (Decisions{.grants = {{2, 10}}, .next = kLater}));
}

TEST_F(SchedulerTest, AJobThatAsksForGpusGetsAsManyFreeOnesOrWaits) {
  AddSweep(1, {10}).needs.gpus = 2;
  AddOffer(1);
  AddOffer(2).gpus = 1;
  AddOffer(3).gpus = 2;
  EXPECT_EQ(Decide(view_, kNow), (Decisions{.grants = {{3, 10}}, .next = kLater}));
  view_.offers.pop_back();
  EXPECT_EQ(Decide(view_, kNow), (Decisions{.next = kLater}));
}

TEST_F(SchedulerTest, TheMemoryOfAJobThatAsksForGpusIsTheirs) {
  QueueView& queue = AddSweep(1, {10});
  queue.needs = {.gpus = 1, .memory_bytes = int64_t{64} << 30};
  OfferView& offer = AddOffer(1);
  offer.gpus = 1;
  offer.gpu_memory_bytes = int64_t{80} << 30;
  EXPECT_EQ(Decide(view_, kNow), (Decisions{.grants = {{1, 10}}}));
  offer.gpu_memory_bytes = int64_t{40} << 30;
  EXPECT_EQ(Decide(view_, kNow), (Decisions{.next = kLater}));
}

TEST_F(SchedulerTest, AJobThatAsksForNoneGoesToAGpuFirst) {
  AddSweep(1, {10, 11});
  AddOffer(1);
  AddOffer(2).on_gpu = true;
  AddOffer(3).on_gpu = true;
  EXPECT_EQ(Decide(view_, kNow), (Decisions{.grants = {{2, 10}, {3, 11}}, .next = kLater}));
}

TEST_F(SchedulerTest, AWorkerWithoutASlotGetsNothing) {
  AddSweep(1, {10});
  AddOffer(1).slots = 0;
  EXPECT_EQ(Decide(view_, kNow), (Decisions{.next = kLater}));
}

TEST_F(SchedulerTest, ARetriedJobWaitsForItsPauseAndThenForItsTurn) {
  AddSweep(1, {10, 12}, {{9, Millis(1001)}, {11, kNow}});
  AddOffer(1);
  AddOffer(2);
  EXPECT_EQ(Decide(view_, kNow), (Decisions{.grants = {{1, 10}, {2, 11}}}));
  EXPECT_EQ(Decide(view_, Millis(1001)), (Decisions{.grants = {{1, 9}, {2, 10}}}));
}

TEST_F(SchedulerTest, WakesWhenAPauseEndsIfSomebodyWaits) {
  AddSweep(1, {}, {{9, Millis(1500)}});
  EXPECT_EQ(Decide(view_, kNow), Decisions{});  // nobody waits: nothing would happen
  AddOffer(1);
  EXPECT_EQ(Decide(view_, kNow), (Decisions{.next = Millis(1500)}));
}

TEST_F(SchedulerTest, AnOfferIsAnsweredAtItsEndNotBefore) {
  AddOffer(1).ends_at = kNow;
  AddOffer(2);
  EXPECT_EQ(Decide(view_, kNow), (Decisions{.unanswered = {1}, .next = kLater}));
}

TEST_F(SchedulerTest, ALeaseThatHasRunOutIsSuspectedAtItsTime) {
  view_.leases = {{1, 1, Millis(1001)}, {2, 3, kNow}, {3, 1, Millis(999), {}, Millis(5)}};
  const Decisions decisions = Decide(view_, kNow);
  EXPECT_EQ(decisions, (Decisions{.suspected = {{2, 3}, {3, 1}}, .next = Millis(1001)}));
  EXPECT_TRUE(decisions.ChangesLeases());
}

TEST_F(SchedulerTest, WhatIsSuspectedIsLostAfterTheGraceAndNotGrantedInTheSamePass) {
  AddSweep(1, {});
  view_.leases = {{2, 3, Millis(500), kNow}, {4, 1, Millis(500), Millis(1200)}};
  AddOffer(1);
  const Decisions decisions = Decide(view_, kNow);
  EXPECT_EQ(decisions, (Decisions{.expired = {{2, 3}}, .next = Millis(1200)}));
  EXPECT_TRUE(decisions.ChangesLeases());
}

TEST_F(SchedulerTest, AJobThatRanForTooLongIsToldToStop) {
  view_.leases = {{1, 1, kLater, {}, kNow}, {2, 1, kLater, {}, Millis(1200)}, {3, 1, kLater}};
  EXPECT_EQ(Decide(view_, kNow), (Decisions{.timed_out = {{1, 1}}, .next = Millis(1200)}));
}

TEST_F(SchedulerTest, ASilentWorkerIsGoneAndGetsNothing) {
  AddSweep(1, {10});
  view_.workers = {{10, kNow}, {20, Millis(1500)}};
  AddOffer(1);  // worker 10's
  EXPECT_EQ(Decide(view_, kNow), (Decisions{.gone = {10}, .next = Millis(1500)}));
  AddOffer(2);  // worker 20's
  EXPECT_EQ(Decide(view_, kNow),
            (Decisions{.gone = {10}, .grants = {{2, 10}}, .next = Millis(1500)}));
}

}  // namespace
}  // namespace gyre
