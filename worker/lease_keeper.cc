#include "worker/lease_keeper.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace gyre {
namespace {

// Asking again would be answered alike: another protocol, another worker of this name, a token that
// is not the coordinator's.
bool IsRefusal(const Status& status) {
  return status.code() == StatusCode::kFailedPrecondition ||
         status.code() == StatusCode::kInvalidArgument ||
         status.code() == StatusCode::kUnimplemented;
}

}  // namespace

LeaseKeeper::LeaseKeeper(CoordinatorClient& client, Registration registration, LeaseHolder& holder,
                         std::string address)
    : client_(client),
      registration_(std::move(registration)),
      holder_(holder),
      address_(std::move(address)),
      thread_([this](std::stop_token stop) { Run(std::move(stop)); }) {}

Status LeaseKeeper::AwaitRegistered(std::stop_token stop) {
  MutexLock lock(mutex_);
  if (!changed_.Wait(mutex_, std::move(stop),
                     [&]() GYRE_REQUIRES(mutex_) { return registered_ || !refused_.ok(); })) {
    return Cancelled("the worker is shutting down");
  }
  return refused_;
}

void LeaseKeeper::RegisterAgain() {
  const MutexLock lock(mutex_);
  registered_ = false;
  changed_.NotifyAll();
}

Status LeaseKeeper::Wait(std::stop_token stop) {
  MutexLock lock(mutex_);
  changed_.Wait(mutex_, std::move(stop), [&]() GYRE_REQUIRES(mutex_) { return !refused_.ok(); });
  return refused_;
}

void LeaseKeeper::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void LeaseKeeper::Run(std::stop_token stop) {
  while (true) {
    bool registered = false;
    {
      MutexLock lock(mutex_);
      const Millis left = next_beat_ - Clock::Real().Now();
      if (registered_ && left > Millis(0))
        changed_.WaitFor(mutex_, stop, left, [&]() GYRE_REQUIRES(mutex_) { return !registered_; });
      registered = registered_;
      if (stop.stop_requested() || !refused_.ok()) return;
    }
    if (registered) {
      Beat(stop);
    } else {
      Register(stop);
    }
  }
}

void LeaseKeeper::Refused(const Status& status) {
  const MutexLock lock(mutex_);
  refused_ = status.WithContext("not a worker of the coordinator at " + address_);
  registered_ = false;
  changed_.NotifyAll();
}

void LeaseKeeper::Register(const std::stop_token& stop) {
  Registration registration = registration_;
  registration.left = holder_.Left();
  const Result<Registered> answer = client_.Register(registration, stop);
  if (answer.ok()) {
    Answered();
    Speaks(answer->epoch);
    if (Status fits = holder_.OnRegistered(*answer); !fits.ok()) return Refused(fits);
    LogInfo("registered at " + address_ + " as " + registration_.name + " with " +
            std::to_string(registration_.slots) + (registration_.slots == 1 ? " slot" : " slots"));
    interval_ = std::clamp(answer->heartbeat, Millis(10), Millis(60000));
    next_beat_ = Clock::Real().Now() + interval_;
    const MutexLock lock(mutex_);
    registered_ = true;
    changed_.NotifyAll();
    return;
  }
  if (IsRefusal(answer.status())) return Refused(answer.status());
  NotAnswered(answer.status(), stop);
}

void LeaseKeeper::Beat(const std::stop_token& stop) {
  const Result<HeartbeatAnswer> answer = client_.Heartbeat(holder_.Held(), holder_.Problem(), stop);
  if (!answer.ok()) {
    if (IsRefusal(answer.status())) return Refused(answer.status());
    if (answer.status().code() != StatusCode::kNotFound) return NotAnswered(answer.status(), stop);
    Answered();
    LogInfo("the coordinator at " + address_ + " does not know this worker; registering again");
    return RegisterAgain();
  }
  Answered();
  Speaks(answer->epoch);
  for (const LeaseDesire& desire : answer->desires) holder_.Obey(desire);
  // A fixed schedule; beats that were missed are not made up for.
  next_beat_ += interval_;
  const Millis now = Clock::Real().Now();
  if (next_beat_ < now) next_beat_ = now + interval_;
}

void LeaseKeeper::Speaks(const std::string& epoch) {
  if (!epoch_.empty() && epoch != epoch_) {
    LogInfo("the coordinator at " + address_ + " was started anew; going on with what is held");
  }
  epoch_ = epoch;
}

void LeaseKeeper::Answered() {
  if (!reachable_) LogInfo("reached " + address_ + " again");
  reachable_ = true;
  backoff_.Reset();
}

void LeaseKeeper::NotAnswered(const Status& status, const std::stop_token& stop) {
  if (stop.stop_requested()) return;
  if (reachable_)
    LogWarning("cannot reach " + address_ + "; trying again (" + status.message() + ")");
  reachable_ = false;
  MutexLock lock(mutex_);
  changed_.WaitFor(mutex_, stop, backoff_.Next(), [] { return false; });
}

}  // namespace gyre
