// Following sweeps, with a coordinator that follows a script.

#include "cli/follow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <mutex>

namespace gyre {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

SweepStatus Sweep(int queued, int succeeded, int64_t last_event_id) {
  SweepStatus sweep;
  sweep.id = 1;
  sweep.name = "s";
  sweep.jobs = {.queued = queued, .succeeded = succeeded};
  sweep.last_event_id = last_event_id;
  return sweep;
}

WatchedEvent Succeeded(int64_t id) {
  return {.id = id,
          .kind = "job_succeeded",
          .sweep_id = 1,
          .job_id = id,
          .details = "{\"variant\": \"A\", \"seed\": " + std::to_string(id) + "}"};
}

/// Each connection gives its events and then breaks, or stays open until it is stopped.
class ScriptedSource : public SweepSource {
 public:
  struct Connection {
    std::vector<WatchedEvent> events;
    bool breaks = false;
  };

  std::deque<SweepStatus> answers;  // the last one stays
  std::deque<Connection> connections;
  std::vector<int64_t> asked_after;

  Result<SweepStatus> GetSweep(const std::string& name) override {
    const std::lock_guard lock(mutex_);
    if (name != "s") return NotFound("no sweep is called '" + name + "'");
    const SweepStatus answer = answers.front();
    if (answers.size() > 1) answers.pop_front();
    return answer;
  }

  Status Watch(int64_t after_id, const std::function<void(const WatchedEvent&)>& on_event,
               std::stop_token stop) override {
    Connection connection;
    {
      const std::lock_guard lock(mutex_);
      asked_after.push_back(after_id);
      if (!connections.empty()) {
        connection = connections.front();
        connections.pop_front();
      }
    }
    for (const WatchedEvent& event : connection.events) on_event(event);
    if (connection.breaks) return Unavailable("the connection broke");
    std::unique_lock lock(mutex_);
    stopped_.wait(lock, stop, [] { return false; });
    return OkStatus();
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any stopped_;
};

Result<std::vector<SweepStatus>> Follow(ScriptedSource& source, std::string* printed,
                                        std::stop_token stop = {}) {
  ::testing::internal::CaptureStderr();
  Result<std::vector<SweepStatus>> result = [&] {
    ProgressDisplay display;
    return FollowSweeps(source, {"s"}, display, stop);
  }();
  *printed = ::testing::internal::GetCapturedStderr();
  return result;
}

TEST(FollowSweeps, EndsWhenTheLastJobHasEnded) {
  ScriptedSource source;
  source.answers = {Sweep(2, 0, 10), Sweep(0, 2, 12)};
  source.connections = {{.events = {Succeeded(11), Succeeded(12)}}};
  std::string printed;
  const auto sweeps = Follow(source, &printed);
  ASSERT_TRUE(sweeps.ok()) << sweeps.status();
  EXPECT_EQ(sweeps->front().jobs.succeeded, 2);
  EXPECT_EQ(printed, "s: A seed 11 succeeded\ns: A seed 12 succeeded\n");
}

TEST(FollowSweeps, ASweepThatPausesItselfEndsIt) {
  ScriptedSource source;
  SweepStatus paused = Sweep(5, 0, 12);
  paused.intent = "PAUSED";
  paused.pause_reason = "its first 3 jobs failed alike";
  source.answers = {Sweep(8, 0, 10), paused};
  WatchedEvent event{.id = 12, .kind = "sweep_paused", .sweep_id = 1};
  event.details = R"({"reason": "its first 3 jobs failed alike"})";
  source.connections = {{.events = {event}}};
  std::string printed;
  const auto sweeps = Follow(source, &printed);
  ASSERT_TRUE(sweeps.ok()) << sweeps.status();
  EXPECT_TRUE(sweeps->front().paused_itself());
  EXPECT_EQ(printed, "s: has paused itself: its first 3 jobs failed alike\n");
}

TEST(FollowSweeps, ASweepThatHasEndedNeedsNoEvent) {
  ScriptedSource source;
  source.answers = {Sweep(0, 2, 12)};
  std::string printed;
  EXPECT_TRUE(Follow(source, &printed).ok());
  EXPECT_EQ(printed, "");
}

TEST(FollowSweeps, ABrokenConnectionIsMadeAgainAndNothingIsMissedOrDoubled) {
  ScriptedSource source;
  source.answers = {Sweep(2, 0, 10), Sweep(1, 1, 11), Sweep(0, 2, 12)};
  source.connections = {{.events = {Succeeded(11)}, .breaks = true},
                        {.events = {Succeeded(11), Succeeded(12)}}};
  std::string printed;
  ASSERT_TRUE(Follow(source, &printed).ok());
  EXPECT_EQ(source.asked_after, (std::vector<int64_t>{10, 11}));
  EXPECT_THAT(printed, HasSubstr("the connection broke; waiting for it\n"));
  EXPECT_THAT(printed, HasSubstr("connected again\n"));
  EXPECT_EQ(printed.find("seed 11"), printed.rfind("seed 11"));
  EXPECT_THAT(printed, HasSubstr("s: A seed 12 succeeded\n"));
}

TEST(FollowSweeps, StopsWhenAsked) {
  ScriptedSource source;
  source.answers = {Sweep(2, 0, 10)};
  std::stop_source stop;
  stop.request_stop();
  std::string printed;
  EXPECT_EQ(Follow(source, &printed, stop.get_token()).status().code(), StatusCode::kCancelled);
}

TEST(FollowSweeps, AnUnknownSweepIsAnError) {
  ScriptedSource source;
  source.answers = {Sweep(2, 0, 10)};
  ProgressDisplay display;
  EXPECT_EQ(FollowSweeps(source, {"t"}, display, {}).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace gyre
