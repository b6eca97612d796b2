#include "cli/follow.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "cli/progress.h"

namespace gyre {
namespace {

constexpr Millis kDrawEvery{200};
constexpr Millis kRefreshAtMost{50};
constexpr Millis kRefreshEvery{2000};  // without an event: what was trained meanwhile
constexpr Millis kReconnectAfter{500};
constexpr Millis kLastWords{1000};
constexpr Millis kWaitsLong{4000};
constexpr Millis kSummaryEvery{60000};  // where nothing is redrawn

/// Events from the coordinator, in a thread of its own that connects again by itself.
class EventQueue {
 public:
  EventQueue(SweepSource& source, int64_t after_id)
      : source_(source), last_id_(after_id), thread_([this](std::stop_token stop) { Run(stop); }) {}

  /// What has come since the last call; waits up to `wait` for something, shorter if `stop` is
  /// requested.
  std::deque<WatchedEvent> Take(Millis wait, std::stop_token stop) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, wait, [this] { return news_; });
    news_ = false;
    return std::exchange(events_, {});
  }

  /// Why the connection is broken; OK while it stands.
  Status failure() {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

 private:
  void Run(std::stop_token stop) {
    while (!stop.stop_requested()) {
      const Status status = source_.Watch(
          last_id_, [this](const WatchedEvent& event) { Push(event); }, stop);
      std::unique_lock lock(mutex_);
      news_ |= failure_.ok() != status.ok();
      failure_ = status;
      changed_.notify_all();
      changed_.wait_for(lock, stop, kReconnectAfter, [] { return false; });
    }
  }

  void Push(const WatchedEvent& event) {
    const std::lock_guard lock(mutex_);
    last_id_ = std::max(last_id_, event.id);
    failure_ = OkStatus();
    events_.push_back(event);
    news_ = true;
    changed_.notify_all();
  }

  SweepSource& source_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<WatchedEvent> events_;  // these three are guarded by mutex_
  Status failure_;
  bool news_ = false;
  int64_t last_id_;  // written by the thread alone
  std::jthread thread_;
};

bool MayPass(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded;
}

/// Asks for every sweep that has not ended, and for the workers. A coordinator that is away is no
/// failure here.
Status RefreshAll(SweepSource& source, bool all_sweeps, SweepProgress* progress) {
  const Result<ClusterStatus> cluster = source.GetCluster();
  if (cluster.ok()) progress->Refresh(*cluster, all_sweeps);
  const std::vector<SweepStatus> known = progress->sweeps();
  for (const SweepStatus& sweep : known) {
    if (sweep.ended()) continue;
    const Result<SweepStatus> newer = source.GetSweep(sweep.name);
    if (newer.ok()) {
      progress->Refresh(*newer);
    } else if (!MayPass(newer.status())) {
      return newer.status();
    }
  }
  return OkStatus();
}

/// Says once why a sweep waits, when it has done so for a while: workers may still be on their way.
class WaitingSweeps {
 public:
  std::vector<std::string> NewLines(const std::vector<SweepStatus>& sweeps, Millis now) {
    std::vector<std::string> lines;
    for (const SweepStatus& sweep : sweeps) {
      Reason& reason = reasons_[sweep.name];
      if (reason.text != sweep.waiting) reason = {sweep.waiting, now, false};
      if (reason.text.empty() || reason.said || now - reason.since < kWaitsLong) continue;
      reason.said = true;
      lines.push_back(sweep.name + ": waiting: " + reason.text);
    }
    return lines;
  }

 private:
  struct Reason {
    std::string text;
    Millis since{0};
    bool said = false;
  };
  std::map<std::string, Reason> reasons_;
};

Result<SweepProgress> Begin(SweepSource& source, const std::vector<std::string>& names) {
  std::vector<SweepStatus> sweeps;
  const Result<ClusterStatus> cluster = source.GetCluster();
  if (names.empty()) {
    if (!cluster.ok()) return cluster.status();
    sweeps.assign(cluster->sweeps.rbegin(), cluster->sweeps.rend());  // the newest last
  }
  for (const std::string& name : names) {
    GYRE_ASSIGN_OR_RETURN(SweepStatus sweep, source.GetSweep(name));
    sweeps.push_back(std::move(sweep));
  }
  SweepProgress progress(std::move(sweeps));
  if (cluster.ok()) progress.Refresh(*cluster, /*all_sweeps=*/false);
  return progress;
}

/// What has to be done at times of their own.
class Every {
 public:
  explicit Every(Millis span) : span_(span), next_(Clock::Real().Now() + span) {}
  bool IsDue() {
    const Millis now = Clock::Real().Now();
    if (now < next_) return false;
    next_ = now + span_;
    return true;
  }

 private:
  const Millis span_;
  Millis next_;
};

}  // namespace

Result<std::vector<SweepStatus>> FollowSweeps(SweepSource& source,
                                              const std::vector<std::string>& names,
                                              ProgressDisplay& display, std::stop_token stop) {
  GYRE_ASSIGN_OR_RETURN(SweepProgress progress, Begin(source, names));
  for (const std::string& line : progress.FirstLines()) display.Print(line);
  // Without a sweep there is no event to go on from.
  EventQueue queue(source, progress.sweeps().empty() ? -1 : progress.last_event_id());
  WaitingSweeps waiting;
  bool was_connected = true, stale = false;
  Every summary(kSummaryEvery);
  Millis refreshed = Clock::Real().Now();
  // The answer that everything has ended may overtake the last events.
  const auto may_end = [&] {
    return !names.empty() && progress.settled() &&
           (progress.caught_up() || Clock::Real().Now() - refreshed > kLastWords);
  };
  while (!may_end()) {
    if (stop.stop_requested()) return Cancelled("interrupted");
    std::vector<std::string> lines;
    for (const WatchedEvent& event : queue.Take(stale ? kRefreshAtMost : kDrawEvery, stop)) {
      stale |= progress.OnEvent(event, &lines);
    }
    for (const std::string& line : lines) display.Print(line);

    const Status failure = queue.failure();
    if (!failure.ok() && !MayPass(failure)) return failure;
    if (failure.ok() != was_connected) {
      display.Print(failure.ok() ? "connected again" : failure.message() + "; waiting for it");
      was_connected = failure.ok();
    }
    const Millis age = Clock::Real().Now() - refreshed;
    const bool may_change = names.empty() || !progress.settled();
    if (may_change && age >= (stale ? kRefreshAtMost : kRefreshEvery)) {
      GYRE_RETURN_IF_ERROR(RefreshAll(source, names.empty(), &progress));
      refreshed = Clock::Real().Now();
      stale = false;
      for (const std::string& line : waiting.NewLines(progress.sweeps(), refreshed))
        display.Print(line);
    }
    if (display.interactive()) {
      display.Draw(progress.Lines(display.width(), display.height()));
    } else if (summary.IsDue()) {
      for (const std::string& line : progress.Summary()) display.Print(line);
    }
  }
  display.Clear();
  return progress.sweeps();
}

}  // namespace gyre
