// Who holds an attempt: the fence before every call about one, suspicion of those that are silent,
// and what a worker's new process may take over from its old one.

#include <algorithm>
#include <utility>

#include "coordinator/coordinator.h"

namespace gyre {
namespace {

std::string InWords(const AttemptRef& attempt) {
  return "attempt " + std::to_string(attempt.number) + " of job " + std::to_string(attempt.job);
}

}  // namespace

bool Coordinator::Holds(const WorkerEntry& worker, const AttemptRef& attempt) {
  const JobEntry* job = state_.FindJob(attempt.job);
  if (job == nullptr || job->live == nullptr) return false;
  const AttemptRecord& live = job->live->record;
  return live.worker_id == worker.record.id && live.number == attempt.number &&
         live.incarnation == worker.record.incarnation && live.epoch == attempt.epoch;
}

Result<JobEntry*> Coordinator::Fenced(const AttemptRef& attempt, const char* call,
                                      const Moment& at) {
  WorkerEntry* worker = state_.FindWorkerByIncarnation(attempt.incarnation);
  if (worker != nullptr && Holds(*worker, attempt)) {
    JobEntry* job = state_.FindJob(attempt.job);
    GYRE_RETURN_IF_ERROR(Heard(*worker, at));
    GYRE_RETURN_IF_ERROR(HeardOf(*job, at));
    return job;
  }
  if (state_.FindJob(attempt.job) != nullptr) {
    stale_calls_.push_back({attempt.job, attempt.number, call});
  }
  return FailedPrecondition(WhySuperseded(attempt).why);
}

Superseded Coordinator::WhySuperseded(const AttemptRef& attempt) {
  using Reason = Superseded::Reason;
  const std::string name = InWords(attempt);
  const JobEntry* job = state_.FindJob(attempt.job);
  if (job == nullptr) {
    return {.why = name + " is not of this database: it has no such job"};
  }
  Superseded superseded{.current_attempt = job->record.attempt,
                        .job_state = std::string(Name(job->record.state))};
  const auto say = [&](Reason reason, const std::string& what) {
    superseded.reason = reason;
    superseded.why = name + what + "; the job is " + superseded.job_state +
                     ", its latest attempt " + std::to_string(superseded.current_attempt);
    return superseded;
  };
  const auto found = store_->FindAttempt(attempt.job, attempt.number);
  if (!found.ok() || !*found || (*found)->epoch != attempt.epoch) {
    return say(Reason::kOtherEpoch,
               " was leased by a coordinator on another copy of the database (was a backup "
               "restored?)");
  }
  const AttemptRecord& record = **found;
  if (record.state == AttemptState::kLost)
    return say(Reason::kLost, " was given up: " + record.error);
  if (HasEnded(record.state)) {
    return say(Reason::kEnded, " has ended as " + std::string(Name(record.state)));
  }
  return say(Reason::kOtherIncarnation, " is leased to another process");
}

// Heartbeats that were answered from the board, at the time at which they came.
Status Coordinator::TakeBeats(const Moment& at) {
  for (const LeaseBoard::Noted& noted : board_.Take()) {
    const Moment then{noted.at, at.wall - (at.now - noted.at)};
    const auto heard = Heartbeat(noted.call, then);
    // It may have been replaced since; whatever else is wrong is wrong with the store.
    if (!heard.ok() && store_->failed()) return heard.status();
  }
  return OkStatus();
}

void Coordinator::Publish(const JobEntry& job) {
  if (job.live == nullptr) return board_.Remove(job.record.id);
  const AttemptRecord& live = job.live->record;
  board_.Put({live.job_id, live.number, live.incarnation, live.epoch}, DesireOf(job));
}

void Coordinator::Publish() {
  for (const int64_t id : std::exchange(touched_sweeps_, {})) {
    const SweepEntry* sweep = state_.FindSweep(id);
    if (sweep != nullptr) touched_jobs_.insert(sweep->jobs.begin(), sweep->jobs.end());
  }
  for (const int64_t id : std::exchange(touched_jobs_, {})) {
    if (const JobEntry* job = state_.FindJob(id)) Publish(*job);
  }
}

void Coordinator::PublishAll() {
  touched_sweeps_.clear();
  touched_jobs_.clear();
  board_.Clear();
  for (const auto& [id, worker] : state_.workers()) board_.Welcome(worker.record.incarnation);
  for (const int64_t id : state_.live()) Publish(*state_.FindJob(id));
}

// The grace begins when it is noticed: a coordinator that was held up itself has not heard anybody.
Status Coordinator::Suspect(JobEntry& job, const Moment& at) {
  LiveAttempt& live = *job.live;
  live.lost_at = at.now + timing_.suspect_grace;
  live.record.suspected_at = FormatUtc(at.wall);
  GYRE_RETURN_IF_ERROR(store_->Update(live.record, std::nullopt));
  return Note("attempt_suspected",
              {.job = &job,
               .attempt = live.record.number,
               .worker = live.record.worker_id,
               .details = {{"grace_ms", timing_.suspect_grace.count()}}},
              at);
}

Status Coordinator::HeardOf(JobEntry& job, const Moment& at) {
  LiveAttempt& live = *job.live;
  live.expires_at = std::max(live.expires_at, at.now + timing_.lease);
  live.lost_at.reset();
  if (!live.record.suspected_at) return OkStatus();
  live.record.suspected_at.reset();
  GYRE_RETURN_IF_ERROR(store_->Update(live.record, std::nullopt));
  return Note("attempt_back",
              {.job = &job, .attempt = live.record.number, .worker = live.record.worker_id}, at);
}

Status Coordinator::TakeOver(const WorkerEntry& worker, const LeftAttempt& left,
                             const std::string& incarnation, const Moment& at) {
  if (!Holds(worker, left.attempt)) return OkStatus();
  JobEntry& job = *state_.FindJob(left.attempt.job);
  LiveAttempt& live = *job.live;
  GYRE_RETURN_IF_ERROR(store_->SetIncarnation(live.record, incarnation));
  live.record.incarnation = incarnation;
  live.granted_at_heartbeat = 0;
  GYRE_RETURN_IF_ERROR(HeardOf(job, at));
  return Note("attempt_reattached",
              {.job = &job,
               .attempt = live.record.number,
               .worker = live.record.worker_id,
               .details = {{"step", left.step}, {"has_ended", left.outcome.has_value()}}},
              at);
}

}  // namespace gyre
