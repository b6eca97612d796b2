// The changes that every call is made of: jobs and attempts move by their state machines, each move
// with its row, its event, and the rows that follow it.

#include <algorithm>
#include <cstdio>
#include <utility>

#include "coordinator/coordinator.h"
#include "coordinator/devices.h"
#include "coordinator/explain_job.h"
#include "coordinator/retry.h"
#include "results/failure_groups.h"

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

// So many jobs that failed alike, and none that succeeded: what is wrong is wrong with all of them.
constexpr int kAlikeFailures = 3;

// Rows; 0 where a config does not say.
int MicroBatchOf(const Json& config) {
  const Json::json_pointer place("/train/micro_batch");
  return config.contains(place) && config.at(place).is_number() ? config.at(place).get<int>() : 0;
}

// Out of memory before: with fewer rows at a time. How many; 0 = as it was.
int ReduceRows(int memory_failures, std::string* config) {
  if (memory_failures == 0) return 0;
  Json smaller = Json::parse(*config, nullptr, false);
  const int rows = SmallerMicroBatch(MicroBatchOf(smaller), memory_failures);
  if (rows == 0) return 0;
  smaller["train"]["micro_batch"] = rows;
  *config = smaller.dump();
  return rows;
}

// A TrainerJob as JSON; the database holds most of it as text already.
std::string TrainerJobText(const LeaseDetails& details, const std::string& config, uint64_t seed) {
  std::string text = "{\"config\":" + config + ",\"seed\":" + std::to_string(seed);
  text += ",\"key\":" + Json(details.key).dump();
  text += ",\"datasets\":{\"train\":" + TrainTextsJson(details.train_dataset).dump();
  text += ",\"validation\":" + details.validation_datasets;
  text += "},\"initial_weights\":" + Json(details.initial_weights).dump() + "}";
  return text;
}

std::string Gib(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

}  // namespace

Status Coordinator::Note(const char* kind, EventAbout about, const Moment& at) {
  EventRecord event;
  event.kind = kind;
  event.sweep_id = about.sweep;
  event.attempt = about.attempt;
  event.worker_id = about.worker;
  if (about.sweep) touched_sweeps_.insert(*about.sweep);
  if (about.job != nullptr) {
    const JobRecord& job = about.job->record;
    touched_jobs_.insert(job.id);
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
  if (step == JobStep::kStopEarly) details["reason"] = job.record.stop_reason;
  if (pause > Millis(0)) details["pause_ms"] = pause.count();
  // A lease has its own event, with the worker.
  if (step != JobStep::kLease) {
    GYRE_RETURN_IF_ERROR(Note(EventOf(step), {.job = &job, .details = std::move(details)}, at));
  }
  for (const int64_t id : job.followers) {
    JobEntry& follower = *state_.FindJob(id);
    follower.record.diverged_at_step = job.record.diverged_at_step;
    follower.record.tokens_done = job.record.tokens_done;
    follower.record.stop_reason = job.record.stop_reason;
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
  const FailureCause cause = CauseOf(ending.code, ending.error);
  const bool of_memory = ending.step == AttemptStep::kFail && cause == FailureCause::kMemory;
  attempt.error = ending.error + (of_memory ? MemoryNumbers(attempt) : "");
  attempt.error_code = ending.code;
  GYRE_RETURN_IF_ERROR(store_->Update(attempt, at.wall));
  Json details = Json::object();
  if (!attempt.error.empty()) details["error"] = attempt.error;
  if (!ending.code.empty()) details["error_code"] = ending.code;
  GYRE_RETURN_IF_ERROR(Note(EventOf(ending.step),
                            {.job = &job,
                             .attempt = attempt.number,
                             .worker = attempt.worker_id,
                             .details = std::move(details)},
                            at));
  job.record.ran_ms += (at.now - job.live->leased_at).count();
  if (of_memory) {
    ++job.record.memory_failures;
  } else if (ending.step == AttemptStep::kFail && cause != FailureCause::kDiskFull) {
    ++job.record.failures;
  }
  if (ending.step == AttemptStep::kLose && ending.is_strike) ++job.record.losses;
  const bool counts = ending.step == AttemptStep::kFail || ending.is_strike;
  const WorkerEntry* worker = state_.FindWorker(attempt.worker_id);
  if (counts && worker != nullptr && IsStrikeOfNode(attempt.state, cause)) {
    state_.AddStrike(job, *worker);
  }
  const EndedAttempt ended{job.record.id, attempt.number, attempt.state, ending.code,
                           attempt.error};
  const bool timed_out = job.live->timed_out;
  state_.ClearLive(job);
  return AfterAttempt(job, ended, timed_out, at);
}

Status Coordinator::AfterAttempt(JobEntry& job, const EndedAttempt& ended, bool timed_out,
                                 const Moment& at) {
  SweepEntry& entry = *state_.FindSweep(job.record.sweep_id);
  const SweepRecord& sweep = entry.record;
  if (ended.state == AttemptState::kSucceeded) {
    job.record.stop_reason.clear();  // it was through before it heard
    entry.longest_run = std::max(entry.longest_run, Millis(job.record.ran_ms));
    return MoveJob(job, JobStep::kSucceed, "", Millis(0), at);
  }
  if (job.record.cancel_requested) return MoveJob(job, JobStep::kCancel, "", Millis(0), at);
  if (!job.record.stop_reason.empty()) {
    return MoveJob(job, JobStep::kStopEarly, "", Millis(0), at);
  }
  if (timed_out) {
    GYRE_RETURN_IF_ERROR(MoveJob(job, JobStep::kFail,
                                 "timed out after " + InWords(Millis(sweep.timeout_ms)), Millis(0),
                                 at));
    return PauseIfAllFailAlike(entry, job, at);
  }
  GYRE_ASSIGN_OR_RETURN(const Strikes strikes, StrikesOf(job));
  const RetryDecision retry =
      DecideRetry(ended, strikes, sweep.retry_attempts, Millis(sweep.retry_backoff_ms));
  if (retry.again) return MoveJob(job, JobStep::kRequeue, "", retry.pause, at);
  GYRE_RETURN_IF_ERROR(MoveJob(job, JobStep::kFail, retry.error, Millis(0), at));
  return PauseIfAllFailAlike(entry, job, at);
}

Result<Strikes> Coordinator::StrikesOf(const JobEntry& job) {
  Strikes strikes{job.record.failures, job.record.memory_failures, job.record.losses};
  if (strikes.memory_failures >= kMemoryFailuresUntilSmaller) {
    GYRE_ASSIGN_OR_RETURN(const LeaseDetails details, store_->DetailsOf(job.record.id));
    const Json config = Json::parse(details.config, nullptr, false);
    strikes.can_be_smaller = MicroBatchOf(config) > 1;
  }
  return strikes;
}

// The trainer's own word, or what the system counted; and what there was.
std::string Coordinator::MemoryNumbers(const AttemptRecord& attempt) {
  std::string numbers;
  if (attempt.peak_memory_bytes) {
    numbers += "the trainer took up to " + Gib(*attempt.peak_memory_bytes);
  }
  if (const WorkerEntry* worker = state_.FindWorker(attempt.worker_id)) {
    numbers += (numbers.empty() ? "" : "; ") + worker->record.name + " has " +
               Gib(worker->record.memory_bytes) + " for " + std::to_string(worker->record.slots) +
               (worker->record.slots == 1 ? " slot" : " slots");
  }
  return " (" + numbers + ")";
}

Status Coordinator::PauseIfAllFailAlike(SweepEntry& sweep, const JobEntry& failed,
                                        const Moment& at) {
  if (sweep.record.intent != SweepIntent::kActive || sweep.unfinished == 0) return OkStatus();
  const std::string error = AlikeError(failed.record.error);
  int alike = 0;
  for (const int64_t id : sweep.jobs) {
    const JobRecord& job = state_.FindJob(id)->record;
    if (job.reused_from) continue;  // it follows another, or was trained elsewhere
    if (job.state == JobState::kSucceeded) return OkStatus();
    const bool counts =
        job.state == JobState::kFailed && job.ended_at.value_or("") > sweep.record.resumed_at;
    if (counts && AlikeError(job.error) == error) ++alike;
  }
  if (alike < kAlikeFailures) return OkStatus();
  const std::string& words = failed.record.error;
  return HoldSweep(
      sweep,
      "its first " + std::to_string(alike) +
          " jobs failed alike, and none has succeeded: " + words.substr(0, words.find('\n')),
      at);
}

Coordinator::AttemptEnding Coordinator::Lost(std::string why) {
  return {.step = AttemptStep::kLose, .error = std::move(why)};
}

Status Coordinator::MarkGone(WorkerEntry& worker, const Moment& at) {
  worker.record.gone = true;
  EndOffersOf(worker, /*in_place=*/true);
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
  std::optional<CheckpointRecord> checkpoint;
  if (job.record.attempt > 0) {
    GYRE_ASSIGN_OR_RETURN(checkpoint, store_->LatestCheckpoint(job_id));
  }

  auto live = std::make_unique<LiveAttempt>();
  AttemptRecord& attempt = live->record;
  attempt.job_id = job_id;
  attempt.number = ++job.record.attempt;
  attempt.worker_id = worker.record.id;
  attempt.incarnation = worker.record.incarnation;
  attempt.device = DevicesFor(sweep.resources.gpus, offer.call.device, offer.call.free_gpus);
  attempt.started_at = at.wall;
  attempt.epoch = epoch_;
  if (checkpoint) attempt.resumed_from_step = checkpoint->step;
  live->leased_at = at.now;
  live->expires_at = at.now + timing_.lease;
  live->granted_at_heartbeat = worker.heartbeats;
  live->progress.step = checkpoint ? checkpoint->step : 0;
  live->progress.tokens = checkpoint ? checkpoint->tokens : 0;
  job.record.tokens_done = live->progress.tokens;

  GYRE_RETURN_IF_ERROR(MoveJob(job, JobStep::kLease, "", Millis(0), at));
  GYRE_RETURN_IF_ERROR(store_->Insert(attempt));
  std::string config = details.config;
  const int rows = ReduceRows(job.record.memory_failures, &config);
  Json about = {{"worker", worker.record.name}};
  if (rows > 0) about["micro_batch"] = rows;
  if (checkpoint) about["resumed_from_step"] = checkpoint->step;
  GYRE_RETURN_IF_ERROR(Note("attempt_leased",
                            {.job = &job,
                             .attempt = attempt.number,
                             .worker = attempt.worker_id,
                             .details = std::move(about)},
                            at));

  offer.lease = LeaseReply{.job_id = job_id,
                           .attempt = attempt.number,
                           .sweep = details.sweep,
                           .variant = details.variant,
                           .job = TrainerJobText(details, config, job.record.seed),
                           .checkpoint_hash = checkpoint ? checkpoint->hash : "",
                           .checkpoint_step = checkpoint ? checkpoint->step : 0,
                           .cpus = sweep.resources.cpus,
                           .lease = timing_.lease,
                           .device = attempt.device,
                           .gpus = sweep.resources.gpus,
                           .epoch = epoch_};
  offer.settled = true;
  state_.SetLive(job, std::move(live));
  state_.MarkServed(*state_.FindSweep(job.record.sweep_id));
  return OkStatus();
}

}  // namespace gyre
