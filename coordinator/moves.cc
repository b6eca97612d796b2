// The changes that every call is made of: jobs and attempts move by their state machines, each move
// with its row, its event, and the rows that follow it.

#include <utility>

#include "coordinator/coordinator.h"
#include "coordinator/retry.h"

namespace gyre {
namespace {

const char* EventOf(JobStep step) {
  switch (step) {
    case JobStep::kLease:
      return "attempt_leased";
    case JobStep::kRequeue:
    case JobStep::kRevive:
      return "job_requeued";
    case JobStep::kSucceed:
      return "job_succeeded";
    case JobStep::kFail:
      return "job_failed";
    case JobStep::kStopEarly:
      return "job_stopped_early";
    case JobStep::kCancel:
      return "job_canceled";
  }
  return "";
}

const char* EventOf(AttemptStep step) {
  switch (step) {
    case AttemptStep::kStart:
      return "attempt_running";
    case AttemptStep::kSucceed:
      return "attempt_succeeded";
    case AttemptStep::kFail:
      return "attempt_failed";
    case AttemptStep::kLose:
      return "attempt_lost";
    case AttemptStep::kStop:
      return "attempt_stopped";
  }
  return "";
}

std::string InWords(Millis duration) {
  const int64_t seconds = duration.count() / 1000;
  if (seconds == 0) return std::to_string(duration.count()) + " ms";
  if (seconds % 3600 == 0) return std::to_string(seconds / 3600) + " h";
  if (seconds % 60 == 0) return std::to_string(seconds / 60) + " min";
  return std::to_string(seconds) + " s";
}

}  // namespace

Status Coordinator::Note(const char* kind, EventAbout about, const Moment& at) {
  EventRecord event;
  event.kind = kind;
  event.sweep_id = about.sweep;
  event.attempt = about.attempt;
  event.worker_id = about.worker;
  if (about.job != nullptr) {
    const JobRecord& job = about.job->record;
    event.sweep_id = job.sweep_id;
    event.job_id = job.id;
    about.details["variant"] = state_.VariantName(job.variant_id);
    about.details["seed"] = job.seed;
  }
  // Errors come from far away: whatever is no UTF-8 in them is replaced.
  event.details = about.details.dump(-1, ' ', false, Json::error_handler_t::replace);
  GYRE_ASSIGN_OR_RETURN(last_event_id_, store_->Append(event, at.wall));
  if (event.sweep_id) {
    if (SweepEntry* sweep = state_.FindSweep(*event.sweep_id))
      sweep->last_event_id = last_event_id_;
  }
  return OkStatus();
}

Status Coordinator::MoveJob(JobEntry& job, JobStep step, const std::string& error, Millis pause,
                            const Moment& at) {
  GYRE_ASSIGN_OR_RETURN(const JobState state, Next(job.record.state, step));
  state_.SetJobState(job, state, pause > Millis(0) ? at.now + pause : Millis(0));
  job.record.error = error;
  job.record.ended_at.reset();
  if (HasEnded(state)) job.record.ended_at = FormatUtc(at.wall);
  GYRE_RETURN_IF_ERROR(store_->Update(job.record));
  Json details = Json::object();
  if (!error.empty()) details["error"] = error;
  if (pause > Millis(0)) details["pause_ms"] = pause.count();
  // A lease has its own event, with the worker.
  if (step != JobStep::kLease) {
    GYRE_RETURN_IF_ERROR(Note(EventOf(step), {.job = &job, .details = std::move(details)}, at));
  }
  for (const int64_t id : job.followers) {
    JobEntry& follower = *state_.FindJob(id);
    follower.record.diverged_at_step = job.record.diverged_at_step;
    follower.record.tokens_done = job.record.tokens_done;
    GYRE_RETURN_IF_ERROR(MoveJob(follower, step, error, Millis(0), at));
  }
  const SweepEntry& sweep = *state_.FindSweep(job.record.sweep_id);
  if (HasEnded(state) && sweep.unfinished == 0) {
    GYRE_RETURN_IF_ERROR(Note("sweep_finished", {.sweep = sweep.record.id}, at));
  }
  return OkStatus();
}

Status Coordinator::StartAttempt(JobEntry& job, const Moment& at) {
  if (job.live->record.state == AttemptState::kRunning) return OkStatus();
  GYRE_ASSIGN_OR_RETURN(job.live->record.state, Next(job.live->record.state, AttemptStep::kStart));
  GYRE_RETURN_IF_ERROR(store_->Update(job.live->record, std::nullopt));
  return Note(
      EventOf(AttemptStep::kStart),
      {.job = &job, .attempt = job.live->record.number, .worker = job.live->record.worker_id}, at);
}

Status Coordinator::EndAttempt(JobEntry& job, const AttemptEnding& ending, const Moment& at) {
  AttemptRecord& attempt = job.live->record;
  GYRE_ASSIGN_OR_RETURN(attempt.state, Next(attempt.state, ending.step));
  attempt.error = ending.error;
  attempt.error_code = ending.code;
  GYRE_RETURN_IF_ERROR(store_->Update(attempt, at.wall));
  Json details = Json::object();
  if (!ending.error.empty()) details["error"] = ending.error;
  if (!ending.code.empty()) details["error_code"] = ending.code;
  GYRE_RETURN_IF_ERROR(Note(EventOf(ending.step),
                            {.job = &job,
                             .attempt = attempt.number,
                             .worker = attempt.worker_id,
                             .details = std::move(details)},
                            at));
  job.record.ran_ms += (at.now - job.live->leased_at).count();
  if (ending.step == AttemptStep::kFail) ++job.record.failures;
  if (ending.step == AttemptStep::kLose && ending.is_strike) ++job.record.losses;
  const AttemptState ended = attempt.state;
  const bool timed_out = job.live->timed_out;
  state_.ClearLive(job);
  return AfterAttempt(job, ended, timed_out, ending, at);
}

Status Coordinator::AfterAttempt(JobEntry& job, AttemptState ended, bool timed_out,
                                 const AttemptEnding& ending, const Moment& at) {
  const SweepRecord& sweep = state_.FindSweep(job.record.sweep_id)->record;
  if (ended == AttemptState::kSucceeded) return MoveJob(job, JobStep::kSucceed, "", Millis(0), at);
  if (job.record.cancel_requested) return MoveJob(job, JobStep::kCancel, "", Millis(0), at);
  if (timed_out) {
    return MoveJob(job, JobStep::kFail, "timed out after " + InWords(Millis(sweep.timeout_ms)),
                   Millis(0), at);
  }
  const RetryDecision retry =
      DecideRetry(ended, {job.record.failures, job.record.losses}, sweep.retry_attempts,
                  Millis(sweep.retry_backoff_ms), ending.code, ending.error);
  if (!retry.again) return MoveJob(job, JobStep::kFail, retry.error, Millis(0), at);
  return MoveJob(job, JobStep::kRequeue, "", retry.pause, at);
}

Coordinator::AttemptEnding Coordinator::Lost(std::string why) {
  return {.step = AttemptStep::kLose, .error = std::move(why)};
}

Status Coordinator::MarkGone(WorkerEntry& worker, const Moment& at) {
  worker.record.gone = true;
  EndOffersOf(worker);
  GYRE_RETURN_IF_ERROR(store_->Update(worker.record, at.wall));
  return Note("worker_gone",
              {.worker = worker.record.id, .details = {{"name", worker.record.name}}}, at);
}

Status Coordinator::GrantJob(int64_t offer_id, int64_t job_id, const Moment& at) {
  Offer& offer = offers_.at(offer_id);
  JobEntry& job = *state_.FindJob(job_id);
  const WorkerEntry& worker = *state_.FindWorker(offer.worker);
  const SweepRecord& sweep = state_.FindSweep(job.record.sweep_id)->record;
  GYRE_ASSIGN_OR_RETURN(const LeaseDetails details, store_->DetailsOf(job_id));
  GYRE_ASSIGN_OR_RETURN(const std::optional<CheckpointRecord> checkpoint,
                        store_->LatestCheckpoint(job_id));

  auto live = std::make_unique<LiveAttempt>();
  AttemptRecord& attempt = live->record;
  attempt.job_id = job_id;
  attempt.number = ++job.record.attempt;
  attempt.worker_id = worker.record.id;
  attempt.incarnation = worker.record.incarnation;
  attempt.device = "cpu";
  attempt.started_at = at.wall;
  if (checkpoint) attempt.resumed_from_step = checkpoint->step;
  live->leased_at = at.now;
  live->expires_at = at.now + timing_.lease;
  live->granted_at_heartbeat = worker.heartbeats;
  live->progress.step = checkpoint ? checkpoint->step : 0;
  live->progress.tokens = checkpoint ? checkpoint->tokens : 0;
  job.record.tokens_done = live->progress.tokens;

  GYRE_RETURN_IF_ERROR(MoveJob(job, JobStep::kLease, "", Millis(0), at));
  GYRE_RETURN_IF_ERROR(store_->Insert(attempt));
  Json about = {{"worker", worker.record.name}};
  if (checkpoint) about["resumed_from_step"] = checkpoint->step;
  GYRE_RETURN_IF_ERROR(Note("attempt_leased",
                            {.job = &job,
                             .attempt = attempt.number,
                             .worker = attempt.worker_id,
                             .details = std::move(about)},
                            at));

  const Json trainer_job = {
      {"config", Json::parse(details.config, nullptr, false)},
      {"seed", job.record.seed},
      {"key", details.key},
      {"datasets",
       {{"train", TrainTextsJson(details.train_dataset)},
        {"validation", Json::parse(details.validation_datasets, nullptr, false)}}},
      {"initial_weights", ""}};
  offer.lease = LeaseReply{.job_id = job_id,
                           .attempt = attempt.number,
                           .sweep = details.sweep,
                           .variant = details.variant,
                           .job = trainer_job.dump(),
                           .checkpoint_hash = checkpoint ? checkpoint->hash : "",
                           .checkpoint_step = checkpoint ? checkpoint->step : 0,
                           .cpus = sweep.resources.cpus,
                           .lease = timing_.lease,
                           .device = attempt.device};
  offer.settled = true;
  state_.SetLive(job, std::move(live));
  return OkStatus();
}

}  // namespace gyre
