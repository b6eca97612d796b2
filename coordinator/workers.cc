// What workers say of themselves: that they are there, that they want work, that they still hold
// their leases.

#include <algorithm>
#include <utility>

#include "coordinator/coordinator.h"
#include "proto/protocol.h"

namespace gyre {
namespace {

// How often a worker's last_seen_at is written while nothing else happens.
constexpr Millis kSeenEvery{15000};
constexpr int kMaxSlots = 4096;

std::string VersionsInWords(int oldest, int newest) {
  if (oldest == newest) return "version " + std::to_string(newest);
  return "versions " + std::to_string(oldest) + " to " + std::to_string(newest);
}

}  // namespace

Result<WorkerEntry*> Coordinator::KnownWorker(const std::string& incarnation) {
  if (WorkerEntry* worker = state_.FindWorkerByIncarnation(incarnation)) return worker;
  if (replaced_incarnations_.contains(incarnation)) {
    return FailedPrecondition(
        "another worker of the same name has registered since; two workers may not share a name");
  }
  return NotFound("this coordinator does not know the worker; it has to register");
}

Status Coordinator::Heard(WorkerEntry& worker, const Moment& at) {
  worker.silent_at = std::max(worker.silent_at, at.now + timing_.lease);
  worker.record.last_seen_at = at.wall;
  const bool back = std::exchange(worker.record.gone, false);
  if (!back && at.wall - worker.last_seen_written < kSeenEvery) return OkStatus();
  worker.last_seen_written = at.wall;
  GYRE_RETURN_IF_ERROR(store_->Update(worker.record, at.wall));
  if (!back) return OkStatus();
  return Note("worker_back",
              {.worker = worker.record.id, .details = {{"name", worker.record.name}}}, at);
}

Result<RegisterReply> Coordinator::Register(const RegisterCall& call, const Moment& at) {
  const int oldest = call.oldest_protocol > 0 ? call.oldest_protocol : call.protocol;
  const int protocol = std::min(call.protocol, kProtocolVersion);
  if (protocol < std::max(oldest, kOldestProtocolVersion)) {
    return FailedPrecondition(
        "the worker (" + call.version + ") speaks " + VersionsInWords(oldest, call.protocol) +
        " of the protocol and this coordinator (" GYRE_VERSION ") " +
        VersionsInWords(kOldestProtocolVersion, kProtocolVersion) + "; use the same Gyre on both");
  }
  if (call.name.empty() || call.incarnation.empty() || call.slots < 1 || call.slots > kMaxSlots) {
    return InvalidArgument("a worker needs a name, an incarnation, and 1 to " +
                           std::to_string(kMaxSlots) + " slots");
  }
  if (state_.FindWorkerByIncarnation(call.incarnation) == nullptr) {
    // Unknown is what registering is for; replaced is not.
    const Status status = KnownWorker(call.incarnation).status();
    if (status.code() != StatusCode::kNotFound) return status;
  }

  WorkerRecord record;
  record.name = call.name;
  record.incarnation = call.incarnation;
  record.version = call.version;
  record.slots = call.slots;
  record.cpus = call.cpus;
  record.memory_bytes = call.memory_bytes;
  record.devices = call.devices;
  record.last_seen_at = at.wall;
  WorkerEntry* worker = state_.FindWorkerByName(call.name);
  const bool anew = worker == nullptr || worker->record.incarnation != call.incarnation;
  if (worker == nullptr) {
    GYRE_ASSIGN_OR_RETURN(record.id, store_->Insert(record, at.wall));
    worker = &state_.Add(record);
  } else {
    if (anew) {
      board_.Forget(worker->record.incarnation);
      replaced_incarnations_.insert(worker->record.incarnation);
      for (const LeftAttempt& left : call.left) {
        GYRE_RETURN_IF_ERROR(TakeOver(*worker, left, call.incarnation, at));
      }
      const std::set<int64_t> jobs = worker->jobs;
      for (const int64_t id : jobs) {
        JobEntry& job = *state_.FindJob(id);
        if (job.live->record.incarnation == call.incarnation) continue;
        GYRE_RETURN_IF_ERROR(EndAttempt(job, Lost("its worker was started anew"), at));
      }
      EndOffersOf(*worker, /*in_place=*/true);
      state_.SetIncarnation(*worker, call.incarnation);
    }
    record.id = worker->record.id;
    worker->record = record;
    GYRE_RETURN_IF_ERROR(store_->Update(worker->record, at.wall));
  }
  worker->silent_at = at.now + timing_.lease;
  worker->last_seen_written = at.wall;
  GYRE_RETURN_IF_ERROR(store_->SetDevices(worker->record));
  if (anew) {
    GYRE_RETURN_IF_ERROR(Note(
        "worker_registered",
        {.worker = record.id, .details = {{"name", record.name}, {"slots", record.slots}}}, at));
  }
  board_.Welcome(call.incarnation);
  RegisterReply reply{record.id, timing_.heartbeat, timing_.lease, protocol, {}};
  for (const LeftAttempt& left : call.left) {
    reply.left.push_back(Holds(*worker, left.attempt) ? WorkerDesire::kContinue
                                                      : WorkerDesire::kDrop);
  }
  return reply;
}

Status Coordinator::Acquire(int64_t offer, const AcquireCall& call, LeaseAnswer answer,
                            const Moment& at) {
  if (call.slots < 1) return InvalidArgument("a worker without a free slot asks for work");
  GYRE_ASSIGN_OR_RETURN(WorkerEntry * worker, KnownWorker(call.incarnation));
  GYRE_RETURN_IF_ERROR(Heard(*worker, at));
  EndOffersOf(*worker, /*in_place=*/false);
  const Millis wait = std::clamp(call.wait, Millis(0), timing_.longest_wait);
  offers_[offer] = {.worker = worker->record.id,
                    .call = call,
                    .answer = std::move(answer),
                    .ends_at = at.now + wait};
  return OkStatus();
}

void Coordinator::EndOffersOf(const WorkerEntry& worker, bool in_place) {
  for (auto& [id, offer] : offers_) {
    if (offer.worker == worker.record.id && (in_place || !offer.in_place)) offer.settled = true;
  }
}

void Coordinator::Withdraw(int64_t offer) { offers_.erase(offer); }

Result<WorkerDesire> Coordinator::DesireFor(const WorkerEntry& worker, const HeldAttempt& held,
                                            const Moment& at) {
  if (!Holds(worker, {held.job, held.number, worker.record.incarnation, held.epoch})) {
    return WorkerDesire::kDrop;
  }
  JobEntry* job = state_.FindJob(held.job);
  LiveAttempt& live = *job->live;
  GYRE_RETURN_IF_ERROR(HeardOf(*job, at));
  live.has_ended = held.outcome.has_value();
  // Reports may be ahead of what the heartbeat's thread saw.
  if (held.progress.step >= live.progress.step) {
    live.progress = held.progress;
    job->record.tokens_done = held.progress.tokens;
    if (held.progress.step > 0) progress_.push_back(DescribeRunning(*job));
  }
  Publish(*job);
  return DesireOf(*job);
}

WorkerDesire Coordinator::DesireOf(const JobEntry& job) {
  const bool stop = job.record.cancel_requested || !job.record.stop_reason.empty() ||
                    job.live->timed_out || IsPaused(job);
  return stop ? WorkerDesire::kStop : WorkerDesire::kContinue;
}

Result<HeartbeatReply> Coordinator::Heartbeat(const HeartbeatCall& call, const Moment& at) {
  GYRE_ASSIGN_OR_RETURN(WorkerEntry * worker, KnownWorker(call.incarnation));
  GYRE_RETURN_IF_ERROR(Heard(*worker, at));
  worker->problem = call.problem;
  HeartbeatReply desires;
  std::set<int64_t> listed;
  for (const HeldAttempt& held : call.held) {
    GYRE_ASSIGN_OR_RETURN(const WorkerDesire desire, DesireFor(*worker, held, at));
    desires.push_back(desire);
    if (desires.back() == WorkerDesire::kDrop) continue;
    listed.insert(held.job);
    GYRE_RETURN_IF_ERROR(StartAttempt(*state_.FindJob(held.job), at));
  }
  // The answer that granted a lease may still be on its way when this heartbeat left; a second one
  // without it tells that the answer was lost.
  const std::set<int64_t> jobs = worker->jobs;
  for (const int64_t id : jobs) {
    JobEntry& job = *state_.FindJob(id);
    if (listed.contains(id) || job.live->granted_at_heartbeat >= worker->heartbeats) continue;
    AttemptEnding ending = Lost("its worker does not hold the lease");
    ending.is_strike = job.live->record.state != AttemptState::kLeased;  // else nothing ever ran
    GYRE_RETURN_IF_ERROR(EndAttempt(job, ending, at));
  }
  ++worker->heartbeats;
  return desires;
}

}  // namespace gyre
