#include "coordinator/lease_board.h"

#include <algorithm>
#include <utility>

namespace gyre {

const LeaseBoard::Entry* LeaseBoard::FindLocked(const AttemptRef& attempt) const {
  const auto found = entries_.find(attempt.job);
  if (found == entries_.end()) return nullptr;
  const AttemptRef& live = found->second.attempt;
  const bool same = live.number == attempt.number && live.incarnation == attempt.incarnation &&
                    live.epoch == attempt.epoch;
  return same ? &found->second : nullptr;
}

std::optional<HeartbeatReply> LeaseBoard::Beat(const HeartbeatCall& call, Millis now) {
  const MutexLock lock(mutex_);
  const auto worker = workers_.find(call.incarnation);
  if (worker == workers_.end()) return std::nullopt;
  HeartbeatReply reply;
  for (const HeldAttempt& held : call.held) {
    const Entry* entry = FindLocked({held.job, held.number, call.incarnation, held.epoch});
    if (entry == nullptr) return std::nullopt;
    reply.push_back(entry->desire);
  }
  if (!std::exchange(worker->second, true)) {
    noted_.push_back({call, now});
    return reply;
  }
  const auto older = std::find_if(noted_.begin(), noted_.end(), [&](const Noted& noted) {
    return noted.call.incarnation == call.incarnation;
  });
  *older = {call, now};
  return reply;
}

void LeaseBoard::Put(const AttemptRef& attempt, WorkerDesire desire) {
  const MutexLock lock(mutex_);
  entries_[attempt.job] = {attempt, desire};
}

void LeaseBoard::Remove(int64_t job) {
  const MutexLock lock(mutex_);
  entries_.erase(job);
}

void LeaseBoard::Welcome(const std::string& incarnation) {
  const MutexLock lock(mutex_);
  workers_.emplace(incarnation, false);
}

void LeaseBoard::Forget(const std::string& incarnation) {
  const MutexLock lock(mutex_);
  workers_.erase(incarnation);
  std::erase_if(noted_, [&](const Noted& noted) { return noted.call.incarnation == incarnation; });
}

void LeaseBoard::Clear() {
  const MutexLock lock(mutex_);
  entries_.clear();
  workers_.clear();
  noted_.clear();
}

std::vector<LeaseBoard::Noted> LeaseBoard::Take() {
  const MutexLock lock(mutex_);
  for (const Noted& noted : noted_) workers_[noted.call.incarnation] = false;
  return std::exchange(noted_, {});
}

std::optional<WorkerDesire> LeaseBoard::Find(const AttemptRef& attempt) const {
  const MutexLock lock(mutex_);
  const Entry* entry = FindLocked(attempt);
  return entry != nullptr ? std::optional(entry->desire) : std::nullopt;
}

size_t LeaseBoard::size() const {
  const MutexLock lock(mutex_);
  return entries_.size();
}

}  // namespace gyre
