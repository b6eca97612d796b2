// Who is next, who waits for room, and that nobody waits for ever.

#include "coordinator/fair_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>

#include "coordinator/scheduler.h"

namespace gyre {
namespace {

constexpr Millis kNow{1000};
constexpr Millis kLater{5000};
constexpr int64_t kGib = int64_t{1} << 30;

class FairShareTest : public testing::Test {
 protected:
  struct Queue {
    std::set<int64_t> ready;
    std::map<int64_t, Millis> delayed;
    std::map<int64_t, std::set<int64_t>> avoided;
  };

  QueueView& AddSweep(int64_t sweep, int submitter, std::set<int64_t> ready) {
    Queue& queue = queues_.emplace_back();
    queue.ready = std::move(ready);
    QueueView view{.sweep = sweep, .ready = &queue.ready, .delayed = &queue.delayed};
    view.avoided = &queue.avoided;
    view.submitter = submitter;
    view_.queues.push_back(view);
    return view_.queues.back();
  }
  /// A worker with so many cores, a slot each, and what it offers while `busy` of them are taken.
  void AddWorker(int64_t worker, int cpus, int busy) {
    OfferView whole{.worker = worker, .slots = cpus, .cpus = cpus, .memory_bytes = cpus * kGib};
    view_.workers.push_back({.worker = worker, .silent_at = Millis(1'000'000), .whole = whole});
    if (busy == cpus) return;
    whole.offer = worker;
    whole.slots = whole.cpus = cpus - busy;
    whole.ends_at = kLater;
    view_.offers.push_back(whole);
  }
  void AddLease(int64_t job, int64_t worker, int64_t sweep, int submitter, int cpus,
                std::optional<Millis> ends_at = std::nullopt) {
    LeaseView lease{.job = job, .attempt = 1, .expires_at = Millis(1'000'000)};
    lease.sweep = sweep;
    lease.worker = worker;
    lease.submitter = submitter;
    lease.needs.cpus = cpus;
    lease.ends_at = ends_at;
    view_.leases.push_back(lease);
  }
  void AddOffers(int64_t first, int count) {
    for (int64_t i = first; i < first + count; ++i) {
      view_.offers.push_back({i, i, 1, 4, kGib, kLater});
    }
  }
  std::vector<int64_t> Jobs() const {
    std::vector<int64_t> jobs;
    for (const Grant& grant : Decide(view_, kNow).grants) jobs.push_back(grant.job);
    return jobs;
  }

  SchedulerView view_;
  std::list<Queue> queues_;
};

using Ids = std::vector<int64_t>;

TEST_F(FairShareTest, SubmittersTakeTurnsHoweverManyJobsOneHas) {
  AddSweep(1, 0, {10, 11, 12, 13, 14, 15});
  AddSweep(2, 1, {20, 21});
  AddOffers(1, 5);
  EXPECT_EQ(Jobs(), (Ids{10, 20, 11, 21, 12}));
}

TEST_F(FairShareTest, WhatRunsCountsAndCoresCountEach) {
  AddSweep(1, 0, {10, 11});
  AddSweep(2, 1, {20, 21, 22, 23}).needs.cpus = 2;
  AddLease(99, 50, 9, 0, 3);  // of a sweep with nothing queued
  AddOffers(1, 4);
  EXPECT_EQ(Jobs(), (Ids{20, 21, 10, 22}));
}

TEST_F(FairShareTest, AGpuCountsForSeveralCores) {
  EXPECT_EQ(ShareOf({.gpus = 2, .cpus = 1}), 1 + 2 * kCoresPerGpu);
}

TEST_F(FairShareTest, SweepsOfOneSubmitterShareWhatHeGets) {
  AddSweep(1, 0, {10, 11, 12});
  AddSweep(2, 0, {20, 21, 22});
  AddSweep(3, 1, {30, 31, 32});
  AddOffers(1, 6);
  EXPECT_EQ(Jobs(), (Ids{10, 30, 20, 31, 11, 32}));
}

TEST_F(FairShareTest, AHigherPriorityGoesFirstWhoeverItIs) {
  AddSweep(1, 0, {10, 11});
  AddSweep(2, 1, {20, 21}).priority = 1;
  AddLease(99, 50, 2, 1, 100);
  AddOffers(1, 3);
  EXPECT_EQ(Jobs(), (Ids{20, 21, 10}));
}

TEST_F(FairShareTest, WhereThereIsRoomForOneTheyTakeTurns) {
  AddSweep(1, 0, {10}).served = 7;
  AddSweep(2, 0, {20}).served = 3;
  AddSweep(3, 1, {30}).served = 5;
  view_.queues[0].submitter_served = view_.queues[1].submitter_served = 7;
  view_.queues[2].submitter_served = 5;
  AddOffers(1, 1);
  EXPECT_EQ(Jobs(), (Ids{30}));
  view_.queues[2].served = view_.queues[2].submitter_served = 8;
  EXPECT_EQ(Jobs(), (Ids{20}));
}

// ray-project/ray#20051, #24259: what needs several places waited for ever, holding some of them.
TEST_F(FairShareTest, TheFirstJobWithoutRoomGetsAPlaceAndHoldsNothingMeanwhile) {
  AddSweep(1, 0, {10}).needs.cpus = 4;
  AddSweep(2, 1, {20, 21});
  AddWorker(1, 4, 1);
  AddWorker(2, 2, 0);  // too small for it
  AddLease(90, 1, 2, 1, 1);
  const Decisions decisions = Decide(view_, kNow);
  EXPECT_EQ(decisions.grants, (std::vector<Grant>{{2, 20}}));
  EXPECT_EQ(decisions.reservation, (Reservation{10, 1, std::nullopt}));
  EXPECT_TRUE(decisions.unanswered.empty());
  // Once the worker is empty it is the job's, though another has used less until then.
  view_.leases.clear();
  view_.offers.clear();
  view_.workers.clear();
  AddWorker(1, 4, 0);
  EXPECT_EQ(Decide(view_, kNow).grants, (std::vector<Grant>{{1, 10}}));
}

TEST_F(FairShareTest, WhatEndsInTimePassesAndWhatDoesNotWaits) {
  AddSweep(1, 0, {10}).needs.cpus = 4;
  AddSweep(2, 1, {20}).expected = Millis(500);
  AddSweep(3, 2, {30}).expected = Millis(501);
  AddSweep(4, 3, {40});
  AddWorker(1, 4, 1);
  AddLease(90, 1, 9, 9, 1, kNow + Millis(500));
  EXPECT_EQ(Decide(view_, kNow).grants, (std::vector<Grant>{{1, 20}}));
  queues_.front().ready.clear();  // nobody waits for room
  EXPECT_EQ(Decide(view_, kNow).grants, (std::vector<Grant>{{1, 20}}));
}

TEST_F(FairShareTest, WhatHasRoomBesideItPasses) {
  AddSweep(1, 0, {10}).needs.cpus = 3;
  AddSweep(2, 1, {20});
  AddSweep(3, 2, {30}).needs.cpus = 2;
  AddWorker(1, 4, 2);
  AddLease(90, 1, 9, 9, 2);
  const Decisions decisions = Decide(view_, kNow);
  EXPECT_EQ(decisions.reservation, (Reservation{10, 1, std::nullopt}));
  EXPECT_EQ(decisions.grants, (std::vector<Grant>{{1, 20}}));
}

TEST_F(FairShareTest, ThePlaceIsWhereItStartsSoonest) {
  AddSweep(1, 0, {10}).needs.cpus = 4;
  for (int64_t worker = 1; worker <= 3; ++worker) AddWorker(worker, 4, 1);
  AddLease(90, 1, 9, 9, 1);
  AddLease(91, 2, 9, 9, 1, Millis(3000));
  AddLease(92, 3, 9, 9, 1, Millis(2000));
  EXPECT_EQ(Decide(view_, kNow).reservation, (Reservation{10, 3, Millis(2000)}));
  view_.workers[2].takes_work = false;
  EXPECT_EQ(Decide(view_, kNow).reservation, (Reservation{10, 2, Millis(3000)}));
}

TEST_F(FairShareTest, WhatNoWorkerCouldEverTakeHoldsUpNobody) {
  AddSweep(1, 0, {10}).needs.cpus = 64;
  AddSweep(2, 1, {20}).needs.gpus = 1;
  AddSweep(3, 2, {30});
  AddWorker(1, 4, 3);
  AddLease(90, 1, 9, 9, 3);
  const Decisions decisions = Decide(view_, kNow);
  EXPECT_EQ(decisions.reservation, std::nullopt);
  EXPECT_EQ(decisions.grants, (std::vector<Grant>{{1, 30}}));
}

TEST_F(FairShareTest, AMachineThatOthersUseTooIsNotHeldForWhatItCannotGive) {
  AddSweep(1, 0, {10}).needs.memory_bytes = 4 * kGib;
  AddSweep(2, 1, {20});
  AddWorker(1, 4, 0);
  view_.offers[0].memory_bytes = 3 * kGib;
  const Decisions decisions = Decide(view_, kNow);
  EXPECT_EQ(decisions.reservation, std::nullopt);
  EXPECT_EQ(decisions.grants, (std::vector<Grant>{{1, 20}}));
}

TEST_F(FairShareTest, AJobAvoidsAWorkerWhereAnotherCouldTakeIt) {
  AddSweep(1, 0, {10, 11});
  queues_.front().avoided[10] = {1};
  AddWorker(1, 4, 0);
  EXPECT_EQ(Decide(view_, kNow).grants, (std::vector<Grant>{{1, 10}}));  // there is no other
  AddWorker(2, 4, 4);                                                    // busy, and will not be
  EXPECT_EQ(Decide(view_, kNow).grants, (std::vector<Grant>{{1, 11}}));
  view_.workers[1].takes_work = false;
  EXPECT_EQ(Decide(view_, kNow).grants, (std::vector<Grant>{{1, 10}}));
  view_.workers[1].takes_work = true;
  view_.workers[1].whole.cpus = 0;
  EXPECT_EQ(Decide(view_, kNow).grants, (std::vector<Grant>{{1, 10}}));
}

// A cluster of nothing but times: sweeps of several sizes and submitters that never run out of
// jobs, workers that ask whenever they have room.
class Cluster {
 public:
  explicit Cluster(uint64_t seed) : random_(seed) {
    for (int64_t worker = 0; worker < 3; ++worker) cpus_.push_back(Draw(2, 8));
    const int most = *std::max_element(cpus_.begin(), cpus_.end());
    for (int64_t sweep = 0; sweep < 6; ++sweep) {
      sweeps_.push_back({.cpus = sweep == 0 ? most : Draw(1, most),
                         .submitter = Draw(0, 2),
                         .says_how_long = Draw(0, 1) == 1});
    }
  }

  void Step() {
    std::erase_if(running_, [&](const Running& job) { return job.ends_at <= now_; });
    const SchedulerView view = View();
    const Decisions decisions = Decide(view, now_);
    if (!view.offers.empty()) reservation_ = decisions.reservation;
    std::set<int64_t> jobs, offers;
    for (const Grant& grant : decisions.grants) {
      ASSERT_TRUE(jobs.insert(grant.job).second);
      ASSERT_TRUE(offers.insert(grant.offer).second);
      Start(grant.job / 1'000'000, grant.job, static_cast<size_t>(grant.offer));
    }
    for (size_t worker = 0; worker < cpus_.size(); ++worker) ASSERT_GE(FreeOn(worker), 0);
    now_ += Millis(10);
  }

  std::vector<int> grants() const {
    std::vector<int> counts;
    for (const Sweep& sweep : sweeps_) counts.push_back(sweep.grants);
    return counts;
  }

 private:
  struct Sweep {
    int cpus = 1, submitter = 0;
    bool says_how_long = false;
    int64_t served = 0;
    int grants = 0;
    std::set<int64_t> ready = {};
    std::map<int64_t, Millis> delayed = {};
  };
  struct Running {
    int64_t job, sweep;
    size_t worker;
    Millis ends_at;
  };

  int Draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  int FreeOn(size_t worker) const {
    int free = cpus_[worker];
    for (const Running& job : running_) {
      if (job.worker == worker) free -= sweeps_[static_cast<size_t>(job.sweep)].cpus;
    }
    return free;
  }

  void Start(int64_t sweep_id, int64_t job, size_t worker) {
    Sweep& sweep = sweeps_[static_cast<size_t>(sweep_id)];
    sweep.ready.erase(job);
    sweep.served = ++served_;
    ++sweep.grants;
    const Millis time(Draw(20, 300));
    running_.push_back({job, sweep_id, worker, now_ + time});
  }

  SchedulerView View() {
    SchedulerView view;
    if (reservation_) view.reserved = reservation_->job;
    for (size_t i = 0; i < sweeps_.size(); ++i) {
      Sweep& sweep = sweeps_[i];
      const auto id = static_cast<int64_t>(i);
      while (sweep.ready.size() < 3) sweep.ready.insert(id * 1'000'000 + ++next_job_);
      QueueView queue{.sweep = id, .ready = &sweep.ready, .delayed = &sweep.delayed};
      queue.needs.cpus = sweep.cpus;
      queue.submitter = sweep.submitter;
      queue.served = sweep.served;
      for (const Sweep& other : sweeps_) {
        if (other.submitter == sweep.submitter) {
          queue.submitter_served = std::max(queue.submitter_served, other.served);
        }
      }
      if (sweep.says_how_long) queue.expected = Millis(300);
      view.queues.push_back(queue);
    }
    for (const Running& job : running_) {
      const Sweep& sweep = sweeps_[static_cast<size_t>(job.sweep)];
      LeaseView lease{.job = job.job, .attempt = 1, .expires_at = Millis::max()};
      lease.sweep = job.sweep;
      lease.worker = static_cast<int64_t>(job.worker);
      lease.submitter = sweep.submitter;
      lease.needs.cpus = sweep.cpus;
      if (sweep.says_how_long) lease.ends_at = job.ends_at;
      view.leases.push_back(lease);
    }
    for (size_t worker = 0; worker < cpus_.size(); ++worker) {
      const auto id = static_cast<int64_t>(worker);
      OfferView offer{id, id, cpus_[worker], cpus_[worker], 0, Millis::max()};
      view.workers.push_back({.worker = id, .silent_at = Millis::max(), .whole = offer});
      offer.slots = offer.cpus = FreeOn(worker);
      if (offer.cpus > 0) view.offers.push_back(offer);
    }
    return view;
  }

  std::mt19937_64 random_;
  Millis now_{0};
  std::vector<int> cpus_;
  std::vector<Sweep> sweeps_;
  std::vector<Running> running_;
  std::optional<Reservation> reservation_;
  int64_t served_ = 0, next_job_ = 0;
};

TEST(FairShareProperties, NobodyStarvesAndNobodyHoldsAPart) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Cluster cluster(seed);
    std::vector<int> before = cluster.grants();
    for (int window = 0; window < 4; ++window) {
      for (int step = 0; step < 500; ++step) ASSERT_NO_FATAL_FAILURE(cluster.Step());
      const std::vector<int> after = cluster.grants();
      for (size_t sweep = 0; sweep < after.size(); ++sweep) {
        EXPECT_GT(after[sweep], before[sweep]) << "sweep " << sweep << ", window " << window;
      }
      before = after;
    }
  }
}

}  // namespace
}  // namespace gyre
