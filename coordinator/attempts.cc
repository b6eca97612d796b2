// What workers say of their attempts.

#include <algorithm>
#include <utility>

#include "coordinator/coordinator.h"
#include "coordinator/devices.h"

namespace gyre {
namespace {

std::string InWords(int64_t job, int attempt) {
  return "attempt " + std::to_string(attempt) + " of job " + std::to_string(job);
}

AttemptStep StepOf(AttemptOutcome outcome) {
  switch (outcome) {
    case AttemptOutcome::kSucceeded:
      return AttemptStep::kSucceed;
    case AttemptOutcome::kFailed:
      return AttemptStep::kFail;
    case AttemptOutcome::kStopped:
      return AttemptStep::kStop;
    case AttemptOutcome::kLost:
      break;
  }
  return AttemptStep::kLose;
}

}  // namespace

Status Coordinator::CheckSequence(const LiveAttempt& live, int64_t sequence) const {
  if (sequence <= live.record.last_sequence) return OkStatus();
  return InvalidArgument("batches of " + InWords(live.record.job_id, live.record.number) +
                         " are in up to " + std::to_string(live.record.last_sequence) +
                         ", and this call needs them up to " + std::to_string(sequence));
}

Result<int64_t> Coordinator::ReportPoints(const ReportPointsCall& call, const Moment& at) {
  GYRE_ASSIGN_OR_RETURN(JobEntry * job, Fenced(call.attempt, "ReportPoints", at));
  LiveAttempt& live = *job->live;
  if (call.sequence < 1) return InvalidArgument("batches are numbered from 1");
  if (call.sequence <= live.record.last_sequence) return live.record.last_sequence;
  GYRE_RETURN_IF_ERROR(CheckSequence(live, call.sequence - 1));
  for (const PointRecord& point : call.points) {
    if (point.metric.empty() || point.step < 0 || point.tokens < 0) {
      return InvalidArgument("a point needs a metric, a step and tokens");
    }
  }

  GYRE_RETURN_IF_ERROR(StartAttempt(*job, at));
  live.record.last_sequence = call.sequence;
  if (live.record.fingerprint.empty()) live.record.fingerprint = call.fingerprint;
  GYRE_RETURN_IF_ERROR(store_->Update(live.record, std::nullopt));
  GYRE_ASSIGN_OR_RETURN(const std::vector<Nondeterminism> differing,
                        store_->Put(live.record, call.points));
  for (const StatisticsRecord& statistics : call.statistics)
    GYRE_RETURN_IF_ERROR(store_->Put(live.record, statistics));
  for (const Nondeterminism& pair : differing) {
    GYRE_RETURN_IF_ERROR(Note(
        "nondeterminism",
        {.job = job,
         .attempt = live.record.number,
         .details = {{"metric", pair.after.metric},
                     {"step", pair.after.step},
                     {"before", {{"attempt", pair.before_attempt}, {"value", pair.before.value}}},
                     {"after", {{"attempt", live.record.number}, {"value", pair.after.value}}}}},
        at));
  }
  int64_t tokens = job->record.tokens_done;
  for (const PointRecord& point : call.points) tokens = std::max(tokens, point.tokens);
  job->record.tokens_done = tokens;
  job->record.differing_points += static_cast<int64_t>(differing.size());
  GYRE_RETURN_IF_ERROR(JudgeEarly(*job, call.points, at));
  GYRE_RETURN_IF_ERROR(store_->Update(job->record));
  return call.sequence;
}

Result<ObsoleteObjects> Coordinator::ReportCheckpoint(const ReportCheckpointCall& call,
                                                      const Moment& at) {
  GYRE_ASSIGN_OR_RETURN(JobEntry * job, Fenced(call.attempt, "ReportCheckpoint", at));
  LiveAttempt& live = *job->live;
  if (call.hash.empty() || call.step < 0)
    return InvalidArgument("a checkpoint needs a hash and a step");
  GYRE_RETURN_IF_ERROR(CheckSequence(live, call.sequence));
  if (call.hash == live.last_checkpoint) return live.last_obsolete;

  CheckpointRecord checkpoint;
  checkpoint.job_id = call.attempt.job;
  checkpoint.step = call.step;
  checkpoint.weights_only = call.weights_only;
  checkpoint.hash = call.hash;
  checkpoint.tokens = call.tokens;
  checkpoint.bytes = call.bytes;
  checkpoint.attempt = call.attempt.number;
  // Answered before a restart; what was obsolete then is not known any more.
  GYRE_ASSIGN_OR_RETURN(const bool repeated, store_->Has(checkpoint));
  if (repeated) return ObsoleteObjects{};

  GYRE_RETURN_IF_ERROR(StartAttempt(*job, at));
  // The fence again, by the database and in this transaction.
  GYRE_RETURN_IF_ERROR(store_->Update(live.record, std::nullopt));
  GYRE_ASSIGN_OR_RETURN(live.last_obsolete, store_->Put(checkpoint, at.wall));
  live.last_checkpoint = call.hash;
  if (call.step > live.record.resumed_from_step.value_or(0)) job->record.losses = 0;
  job->record.tokens_done = std::max(job->record.tokens_done, call.tokens);
  GYRE_RETURN_IF_ERROR(store_->Update(job->record));
  GYRE_RETURN_IF_ERROR(Note(
      "checkpoint_saved",
      {.job = job,
       .attempt = live.record.number,
       .details = {{"step", call.step}, {"hash", call.hash}, {"weights_only", call.weights_only}}},
      at));
  return live.last_obsolete;
}

Result<bool> Coordinator::IsRepeated(const FinishAttemptCall& call) {
  GYRE_ASSIGN_OR_RETURN(const std::optional<AttemptRecord> attempt,
                        store_->FindAttempt(call.attempt.job, call.attempt.number));
  if (!attempt || !HasEnded(attempt->state)) return false;
  const Result<AttemptState> state = Next(AttemptState::kRunning, StepOf(call.outcome));
  return attempt->incarnation == call.attempt.incarnation && attempt->epoch == call.attempt.epoch &&
         state.ok() && attempt->state == *state && attempt->last_sequence == call.last_sequence;
}

Result<ObsoleteObjects> Coordinator::FinishAttempt(const FinishAttemptCall& call,
                                                   const Moment& at) {
  const JobEntry* known = state_.FindJob(call.attempt.job);
  if (known == nullptr || known->live == nullptr ||
      known->live->record.number != call.attempt.number) {
    GYRE_ASSIGN_OR_RETURN(const bool repeated, IsRepeated(call));
    if (repeated) return ObsoleteObjects{};
  }
  GYRE_ASSIGN_OR_RETURN(JobEntry * job, Fenced(call.attempt, "FinishAttempt", at));
  LiveAttempt& live = *job->live;
  GYRE_RETURN_IF_ERROR(CheckSequence(live, call.last_sequence));

  if (call.peak_memory_bytes > 0) live.record.peak_memory_bytes = call.peak_memory_bytes;
  if (call.tokens_per_second > 0) live.record.tokens_per_second = call.tokens_per_second;
  if (live.record.fingerprint.empty()) live.record.fingerprint = call.fingerprint;
  job->record.tokens_done = std::max(job->record.tokens_done, call.tokens);
  const bool succeeded = call.outcome == AttemptOutcome::kSucceeded;
  if (succeeded) job->record.diverged_at_step = call.diverged_at_step;
  ObsoleteObjects obsolete;
  if (call.outcome == AttemptOutcome::kFailed && live.record.resumed_from_step &&
      call.error_code == StatusCodeName(StatusCode::kDataLoss)) {
    // The checkpoint it was to go on from is damaged: the next attempt takes the one before.
    const int64_t step = *live.record.resumed_from_step;
    GYRE_ASSIGN_OR_RETURN(obsolete, store_->ForgetCheckpoint(call.attempt.job, step));
    GYRE_RETURN_IF_ERROR(Note("checkpoint_dropped",
                              {.job = job,
                               .attempt = live.record.number,
                               .details = {{"step", step}, {"error", call.error}}},
                              at));
  }
  GYRE_RETURN_IF_ERROR(EndAttempt(
      *job, {.step = StepOf(call.outcome), .code = call.error_code, .error = call.error}, at));
  if (!succeeded) return obsolete;
  return store_->KeepOnlyWeights(call.attempt.job);
}

// Exactly what the attempt had: so it takes nothing from what its worker offers beside it.
std::optional<AcquireCall> Coordinator::PlaceOf(const AttemptRef& attempt) {
  const WorkerEntry* worker = state_.FindWorkerByIncarnation(attempt.incarnation);
  if (worker == nullptr || !Holds(*worker, attempt)) return std::nullopt;
  const JobEntry& job = *state_.FindJob(attempt.job);
  if (IsGpu(job.live->record.device)) return std::nullopt;
  const Resources& needs = state_.FindSweep(job.record.sweep_id)->record.resources;
  return AcquireCall{.incarnation = attempt.incarnation,
                     .slots = 1,
                     .cpus = needs.cpus,
                     .memory_bytes = std::max<int64_t>(needs.memory_bytes, 1),  // 0 would be any
                     .device = job.live->record.device};
}

Result<ObsoleteObjects> Coordinator::FinishAttempt(const FinishAttemptCall& call, int64_t offer,
                                                   LeaseAnswer answer, const Moment& at) {
  std::optional<AcquireCall> place;
  if (call.wants_next) place = PlaceOf(call.attempt);
  GYRE_ASSIGN_OR_RETURN(ObsoleteObjects obsolete, FinishAttempt(call, at));
  if (!place) return obsolete;
  GYRE_ASSIGN_OR_RETURN(const WorkerEntry* worker, KnownWorker(call.attempt.incarnation));
  offers_[offer] = {.worker = worker->record.id,
                    .call = *std::move(place),
                    .answer = std::move(answer),
                    .ends_at = at.now,
                    .in_place = true};
  return obsolete;
}

}  // namespace gyre
