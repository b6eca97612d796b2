#include "coordinator/commit_loop.h"

#include <algorithm>
#include <future>
#include <optional>
#include <utility>

namespace gyre {
namespace {

// So that the first answer of a flood does not wait for its last call.
constexpr size_t kCallsPerCommit = 512;
constexpr size_t kOthersPerCommit = 448;  // so that reports always have a place
constexpr size_t kReportBytesPerCommit = size_t{4} << 20;
// Kept in memory while they wait.
constexpr size_t kMostReportBytes = size_t{128} << 20;
constexpr Millis kLongestPause{5000};

}  // namespace

CommitLoop::CommitLoop(Coordinator& coordinator, const Clock& clock)
    : coordinator_(coordinator), clock_(clock), thread_([this] { Run(); }) {}

CommitLoop::~CommitLoop() { Stop(); }

void CommitLoop::Post(Call call) {
  {
    const MutexLock lock(mutex_);
    if (!stopping_) {
      report_bytes_ += call.bytes;
      (call.bytes > 0 ? reports_ : posted_).push_back(std::move(call));
      changed_.NotifyOne();
      return;
    }
  }
  call.done(Unavailable("the coordinator is shutting down"));
}

void CommitLoop::Wake() {
  const MutexLock lock(mutex_);
  woken_ = true;
  changed_.NotifyOne();
}

bool CommitLoop::HasRoom(size_t bytes) const {
  const MutexLock lock(mutex_);
  return report_bytes_ == 0 || report_bytes_ + bytes <= kMostReportBytes;
}

Millis CommitLoop::Backlog() const {
  const MutexLock lock(mutex_);
  if (report_bytes_ <= kReportBytesPerCommit || bytes_per_ms_ <= 0) return Millis(0);
  const double ms = static_cast<double>(report_bytes_) / bytes_per_ms_;
  return std::min(Millis(static_cast<int64_t>(ms)), kLongestPause);
}

Status CommitLoop::Do(std::function<Status(const Moment&)> run) {
  return Wait({.run = std::move(run), .done = nullptr});
}

Status CommitLoop::Read(std::function<Status(const Moment&)> run) {
  return Wait({.run = std::move(run), .done = nullptr, .reads = true});
}

Status CommitLoop::Wait(Call call) {
  std::promise<Status> answered;
  call.done = [&](const Status& status) { answered.set_value(status); };
  Post(std::move(call));
  return answered.get_future().get();
}

void CommitLoop::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyOne();
  }
  if (thread_.joinable()) thread_.join();
}

Status CommitLoop::health() const {
  const MutexLock lock(mutex_);
  return health_;
}

std::vector<Call> CommitLoop::TakeLocked(size_t* bytes) {
  woken_ = false;
  std::vector<Call> calls;
  for (; !posted_.empty() && calls.size() < kOthersPerCommit; posted_.pop_front()) {
    calls.push_back(std::move(posted_.front()));
  }
  for (; !reports_.empty() && calls.size() < kCallsPerCommit; reports_.pop_front()) {
    if (*bytes > 0 && *bytes + reports_.front().bytes > kReportBytesPerCommit) break;
    *bytes += reports_.front().bytes;
    calls.push_back(std::move(reports_.front()));
  }
  report_bytes_ -= *bytes;
  return calls;
}

void CommitLoop::Run() {
  std::optional<Millis> next = Millis(0);
  while (true) {
    std::vector<Call> calls;
    size_t bytes = 0;  // of reports among them
    bool last = false;
    {
      const MutexLock lock(mutex_);
      while (!stopping_ && !woken_ && posted_.empty() && reports_.empty()) {
        if (!next) {
          changed_.Wait(mutex_);
        } else if (!changed_.WaitFor(mutex_, std::max(*next - clock_.Now(), Millis(0)))) {
          break;
        }
      }
      calls = TakeLocked(&bytes);
      last = stopping_ && posted_.empty() && reports_.empty();
    }
    const Millis begin = clock_.Now();
    next = coordinator_.Execute(calls, {begin, clock_.WallTime()});
    {
      const MutexLock lock(mutex_);
      health_ = coordinator_.health();
      if (bytes >= kReportBytesPerCommit / 8) {  // of small ones, most of the time is the commit's
        const double took =
            static_cast<double>(std::max<int64_t>((clock_.Now() - begin).count(), 1));
        const double rate = static_cast<double>(bytes) / took;
        bytes_per_ms_ = bytes_per_ms_ <= 0 ? rate : 0.8 * bytes_per_ms_ + 0.2 * rate;
      }
    }
    if (last) break;
  }
  coordinator_.ReleaseOffers();
}

}  // namespace gyre
