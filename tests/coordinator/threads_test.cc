// The two threads of a coordinator: the one that commits, and the one that hands out events.

#include <gmock/gmock.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "coordinator/commit_loop.h"
#include "coordinator/event_feed.h"
#include "tests/coordinator/harness.h"

namespace gyre {
namespace {

using testing::ElementsAre;

/// Remembers what it was given; a test waits for it with a limit that only a fault reaches.
class RecordingSink : public EventSink {
 public:
  explicit RecordingSink(EventFeed& feed, bool takes_more = true)
      : feed_(feed), takes_more_(takes_more) {}

  void Deliver(const std::vector<EventRow>& events,
               const std::vector<RunningJobReply>& progress) override {
    {
      const std::lock_guard lock(mutex_);
      for (const EventRow& row : events) ids_.push_back(row.event.id);
      for (const RunningJobReply& job : progress) steps_.push_back(job.progress.step);
      ++deliveries_;
      changed_.notify_all();
    }
    if (takes_more_) feed_.Ready(this);
  }
  void End(const Status& status) override {
    const std::lock_guard lock(mutex_);
    end_ = status;
    changed_.notify_all();
  }

  bool WaitFor(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), condition);
  }

  EventFeed& feed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const bool takes_more_;
  std::vector<int64_t> ids_, steps_;
  int deliveries_ = 0;
  std::optional<Status> end_;
};

class Threads : public CoordinatorTest {
 protected:
  Threads() : feed_(*EventReader::Open(path_)) {}

  /// Appends events; answers the id of the last.
  int64_t Append(int count) {
    for (int i = 0; i < count; ++i)
      EXPECT_TRUE(Register("w", "w" + std::to_string(++incarnations_)).ok());
    return coordinator_->last_event_id();
  }

  int incarnations_ = 0;
  EventFeed feed_;
};

TEST_F(Threads, AWatcherSeesEveryEventOnceAndInOrder) {
  checks_invariants_ = false;
  const int64_t before = Append(600);  // more than one delivery
  RecordingSink sink(feed_);
  feed_.OnCommitted(before);
  feed_.Add(&sink, 0, std::nullopt);
  ASSERT_TRUE(sink.WaitFor([&] { return static_cast<int64_t>(sink.ids_.size()) == before; }));
  const int64_t after = Append(3);
  feed_.OnCommitted(after);
  ASSERT_TRUE(sink.WaitFor([&] { return static_cast<int64_t>(sink.ids_.size()) == after; }));
  feed_.Remove(&sink);
  for (size_t i = 0; i < sink.ids_.size(); ++i)
    ASSERT_EQ(sink.ids_[i], static_cast<int64_t>(i) + 1);
}

TEST_F(Threads, FromNowOnAndOfOneSweep) {
  ASSERT_TRUE(Submit(MakeSweep("s", 1, 1)).ok());
  const int64_t now = Append(1);
  feed_.OnCommitted(now);
  RecordingSink newest(feed_), of_sweep(feed_);
  feed_.Add(&newest, -1, std::nullopt);
  feed_.Add(&of_sweep, 0, 1);
  const int64_t later = Append(1);
  feed_.OnCommitted(later);
  ASSERT_TRUE(newest.WaitFor([&] { return !newest.ids_.empty(); }));
  ASSERT_TRUE(of_sweep.WaitFor([&] { return !of_sweep.ids_.empty(); }));
  feed_.Stop();
  EXPECT_THAT(newest.ids_, ElementsAre(later));
  EXPECT_THAT(of_sweep.ids_, ElementsAre(2));  // sweep_submitted
  EXPECT_EQ(newest.end_->code(), StatusCode::kUnavailable);
  RecordingSink late(feed_);
  feed_.Add(&late, 0, std::nullopt);
  EXPECT_TRUE(late.end_.has_value());
}

TEST_F(Threads, ABusyWatcherGetsOnlyTheNewestProgress) {
  RecordingSink sink(feed_, /*takes_more=*/false);
  feed_.Add(&sink, -1, std::nullopt);
  RunningJobReply job;
  job.job_id = 1;
  job.progress.step = 1;
  feed_.OnProgress(job);
  ASSERT_TRUE(sink.WaitFor([&] { return sink.deliveries_ == 1; }));
  for (const int64_t step : {2, 3, 4}) {
    job.progress.step = step;
    feed_.OnProgress(job);
  }
  feed_.Ready(&sink);
  ASSERT_TRUE(sink.WaitFor([&] { return sink.deliveries_ == 2; }));
  feed_.Remove(&sink);
  EXPECT_THAT(sink.steps_, ElementsAre(1, 4));
}

// ray-project/ray#18903: a loop that results keep busy does nothing else any more.
TEST_F(Threads, ReportsWaitForEverythingElseAndTheirSendersAreToldForHowLong) {
  constexpr size_t kMiB = size_t{1} << 20;
  std::vector<std::string> order;  // of the loop's thread, until all is answered
  std::atomic<int> answered{0};
  CommitLoop loop(*coordinator_, Clock::Real());
  const auto post = [&](const char* what, size_t bytes) {
    loop.Post({.run = [&, what](const Moment&) { return order.push_back(what), OkStatus(); },
               .done = [&](const Status&) { ++answered; },
               .bytes = bytes});
  };
  for (const bool knows_its_rate : {false, true}) {
    order.clear();
    std::promise<void> begun, go;
    loop.Post({.run =
                   [&](const Moment&) {
                     begun.set_value();
                     go.get_future().wait();
                     return OkStatus();
                   },
               .done = [](const Status&) {}});
    begun.get_future().wait();
    for (int i = 0; i < 10; ++i) post("report", kMiB);
    post("other", 0);
    EXPECT_TRUE(loop.HasRoom(kMiB));
    EXPECT_FALSE(loop.HasRoom(200 * kMiB));
    EXPECT_EQ(loop.Backlog() > Millis(0), knows_its_rate);
    go.set_value();
    std::promise<void> last;  // no report is so large that it never goes
    loop.Post({.run = [](const Moment&) { return OkStatus(); },
               .done = [&](const Status&) { last.set_value(); },
               .bytes = 5 * kMiB});
    last.get_future().wait();
    ASSERT_EQ(order.size(), 11u);
    EXPECT_EQ(order.front(), "other");
    EXPECT_EQ(loop.Backlog(), Millis(0));
    EXPECT_TRUE(loop.HasRoom(200 * kMiB));
  }
  EXPECT_EQ(answered, 22);
}

TEST_F(Threads, CallsFromManyThreadsShareCommitsAndAreAllAnswered) {
  ASSERT_TRUE(Submit(MakeSweep("s", 1, 1)).ok());
  CommitLoop loop(*coordinator_, Clock::Real());
  std::vector<std::thread> threads;
  std::atomic<int> answered = 0;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 50; ++i) {
        const RegisterCall call{.name = "w" + std::to_string(thread),
                                .incarnation = std::to_string(thread) + "-" + std::to_string(i),
                                .protocol = kProtocolVersion,
                                .slots = 1};
        if (loop.Do([&](const Moment& at) { return coordinator_->Register(call, at).status(); })
                .ok())
          ++answered;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, 200);
  EXPECT_TRUE(loop.health().ok());

  bool withdrawn = false;
  const AcquireCall call{"0-49", Millis(20000), 1, 0, 0};  // no cpu: nothing fits
  EXPECT_TRUE(loop.Do([&](const Moment& at) {
                    return coordinator_->Acquire(
                        1, call,
                        [&](const std::optional<LeaseReply>& lease) { withdrawn = !lease; }, at);
                  })
                  .ok());
  loop.Stop();
  EXPECT_TRUE(withdrawn);  // who waits is answered
  EXPECT_EQ(loop.Do([](const Moment&) { return OkStatus(); }).code(), StatusCode::kUnavailable);
  EXPECT_EQ(Sql("SELECT count(*) FROM events WHERE kind = 'worker_registered'"), "200");
}

}  // namespace
}  // namespace gyre
