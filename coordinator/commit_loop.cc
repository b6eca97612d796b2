#include "coordinator/commit_loop.h"

#include <algorithm>
#include <future>
#include <iterator>
#include <optional>
#include <utility>

namespace gyre {
namespace {

// So that the first answer of a flood does not wait for its last call.
constexpr size_t kCallsPerCommit = 512;

}  // namespace

CommitLoop::CommitLoop(Coordinator& coordinator, const Clock& clock)
    : coordinator_(coordinator), clock_(clock), thread_([this] { Run(); }) {}

CommitLoop::~CommitLoop() { Stop(); }

void CommitLoop::Post(Call call) {
  {
    const MutexLock lock(mutex_);
    if (!stopping_) {
      posted_.push_back(std::move(call));
      changed_.NotifyOne();
      return;
    }
  }
  call.done(Unavailable("the coordinator is shutting down"));
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

void CommitLoop::Run() {
  std::optional<Millis> next = Millis(0);
  while (true) {
    std::vector<Call> calls;
    bool last = false;
    {
      const MutexLock lock(mutex_);
      while (!stopping_ && posted_.empty()) {
        if (!next) {
          changed_.Wait(mutex_);
        } else if (!changed_.WaitFor(mutex_, std::max(*next - clock_.Now(), Millis(0)))) {
          break;
        }
      }
      const size_t taken = std::min(posted_.size(), kCallsPerCommit);
      calls.assign(std::make_move_iterator(posted_.begin()),
                   std::make_move_iterator(posted_.begin() + static_cast<std::ptrdiff_t>(taken)));
      posted_.erase(posted_.begin(), posted_.begin() + static_cast<std::ptrdiff_t>(taken));
      last = stopping_ && posted_.empty();
    }
    next = coordinator_.Execute(calls, {clock_.Now(), clock_.WallTime()});
    {
      const MutexLock lock(mutex_);
      health_ = coordinator_.health();
    }
    if (last) break;
  }
  coordinator_.ReleaseOffers();
}

}  // namespace gyre
