// What people want of sweeps and jobs that exist: canceled, paused, resumed, tried again.

#include "coordinator/coordinator.h"

namespace gyre {
namespace {

std::string InWords(const JobEntry& job) { return "job " + std::to_string(job.record.id); }

int WithFollowers(const JobEntry& job) { return 1 + static_cast<int>(job.followers.size()); }

}  // namespace

Result<int> Coordinator::CancelSweep(const std::string& name, const Moment& at) {
  SweepEntry* sweep = state_.FindSweep(name);
  if (sweep == nullptr) return NoSuchSweep(name);
  if (sweep->record.intent == SweepIntent::kCanceled) return 0;
  if (sweep->unfinished == 0) {
    return FailedPrecondition("the sweep '" + name + "' has ended already");
  }
  return CancelJobs(*sweep, at);
}

Result<int> Coordinator::CancelJobs(SweepEntry& sweep, const Moment& at) {
  GYRE_ASSIGN_OR_RETURN(sweep.record.intent, Next(sweep.record.intent, SweepStep::kCancel));
  sweep.record.pause_reason.clear();
  GYRE_RETURN_IF_ERROR(store_->UpdateIntent(sweep.record));
  GYRE_RETURN_IF_ERROR(Note("sweep_canceled", {.sweep = sweep.record.id}, at));
  int canceled = 0;
  for (const int64_t id : sweep.jobs) {
    JobEntry& job = *state_.FindJob(id);
    if (job.record.reused_from || HasEnded(job.record.state) || job.record.cancel_requested)
      continue;
    GYRE_ASSIGN_OR_RETURN(const int jobs, CancelOne(job, at));
    canceled += jobs;
  }
  return canceled;
}

Result<int> Coordinator::CancelJob(int64_t job_id, const Moment& at) {
  JobEntry* job = state_.FindJob(job_id);
  if (job == nullptr) return NotFound("there is no job " + std::to_string(job_id));
  if (job->record.state == JobState::kCanceled || job->record.cancel_requested) return 0;
  if (HasEnded(job->record.state)) {
    return FailedPrecondition("job " + std::to_string(job_id) + " has ended already: it is " +
                              std::string(Name(job->record.state)));
  }
  if (job->record.reused_from) {
    return FailedPrecondition("job " + std::to_string(job_id) +
                              " is the same piece of work as job " +
                              std::to_string(*job->record.reused_from) + "; cancel that one");
  }
  return CancelOne(*job, at);
}

Result<int> Coordinator::CancelOne(JobEntry& job, const Moment& at) {
  const int jobs = 1 + static_cast<int>(job.followers.size());
  if (job.live == nullptr) {
    GYRE_RETURN_IF_ERROR(MoveJob(job, JobStep::kCancel, "", Millis(0), at));
    return jobs;
  }
  job.record.cancel_requested = true;
  GYRE_RETURN_IF_ERROR(store_->Update(job.record));
  GYRE_RETURN_IF_ERROR(
      Note("job_cancel_requested", {.job = &job, .attempt = job.record.attempt}, at));
  return jobs;
}

bool Coordinator::IsPaused(const JobEntry& job) {
  return job.record.paused ||
         state_.FindSweep(job.record.sweep_id)->record.intent == SweepIntent::kPaused;
}

Result<SweepEntry*> Coordinator::NamedSweep(const std::string& name) {
  SweepEntry* sweep = state_.FindSweep(name);
  if (sweep == nullptr) return NoSuchSweep(name);
  return sweep;
}

Result<JobEntry*> Coordinator::NamedJob(int64_t id, const char* verb) {
  JobEntry* job = state_.FindJob(id);
  if (job == nullptr) return NotFound("there is no job " + std::to_string(id));
  if (!job->record.reused_from) return job;
  return FailedPrecondition(InWords(*job) + " is the same piece of work as job " +
                            std::to_string(*job->record.reused_from) + "; " + verb + " that one");
}

Result<TargetReply> Coordinator::Pause(const Target& target, const Moment& at) {
  return target.job > 0 ? PauseJob(target.job, at) : PauseSweep(target.sweep, at);
}

Result<TargetReply> Coordinator::Resume(const Target& target, const Moment& at) {
  return target.job > 0 ? ResumeJob(target.job, at) : ResumeSweep(target.sweep, at);
}

Result<TargetReply> Coordinator::Retry(const Target& target, const Moment& at) {
  return target.job > 0 ? RetryJob(target.job, at) : RetrySweep(target.sweep, at);
}

Result<TargetReply> Coordinator::PauseSweep(const std::string& name, const Moment& at) {
  GYRE_ASSIGN_OR_RETURN(SweepEntry * sweep, NamedSweep(name));
  if (sweep->record.intent == SweepIntent::kCanceled) {
    return FailedPrecondition("the sweep '" + name + "' was canceled");
  }
  if (sweep->unfinished == 0) {
    return FailedPrecondition("the sweep '" + name + "' has ended already");
  }
  GYRE_RETURN_IF_ERROR(HoldSweep(*sweep, "", at));
  return CountUnfinished(*sweep);
}

// A reason that is known stays: pausing again by hand does not make it good.
Status Coordinator::HoldSweep(SweepEntry& sweep, const std::string& reason, const Moment& at) {
  if (sweep.record.intent == SweepIntent::kPaused) return OkStatus();
  GYRE_ASSIGN_OR_RETURN(sweep.record.intent, Next(sweep.record.intent, SweepStep::kPause));
  sweep.record.pause_reason = reason;
  GYRE_RETURN_IF_ERROR(store_->UpdateIntent(sweep.record));
  Json details = Json::object();
  if (!reason.empty()) details["reason"] = reason;
  return Note("sweep_paused", {.sweep = sweep.record.id, .details = std::move(details)}, at);
}

TargetReply Coordinator::CountUnfinished(const SweepEntry& sweep) {
  TargetReply reply{.jobs = sweep.unfinished};
  for (const int64_t id : sweep.jobs) {
    if (state_.FindJob(id)->live != nullptr) ++reply.running;
  }
  return reply;
}

Result<TargetReply> Coordinator::PauseJob(int64_t id, const Moment& at) {
  GYRE_ASSIGN_OR_RETURN(JobEntry * job, NamedJob(id, "pause"));
  if (HasEnded(job->record.state)) {
    return FailedPrecondition(InWords(*job) + " has ended already: it is " +
                              std::string(Name(job->record.state)));
  }
  if (job->record.cancel_requested) {
    return FailedPrecondition(InWords(*job) + " was canceled, and stops");
  }
  if (!job->record.paused) {
    state_.SetPaused(*job, true);
    GYRE_RETURN_IF_ERROR(store_->Update(job->record));
    GYRE_RETURN_IF_ERROR(Note("job_paused", {.job = job}, at));
  }
  return TargetReply{.jobs = WithFollowers(*job), .running = job->live != nullptr ? 1 : 0};
}

Result<TargetReply> Coordinator::ResumeSweep(const std::string& name, const Moment& at) {
  GYRE_ASSIGN_OR_RETURN(SweepEntry * sweep, NamedSweep(name));
  if (sweep->record.intent == SweepIntent::kCanceled) {
    return FailedPrecondition("the sweep '" + name + "' was canceled; gyre retry " + name +
                              " goes on with it");
  }
  GYRE_ASSIGN_OR_RETURN(const bool changed, MakeActive(*sweep, at));
  if (changed) GYRE_RETURN_IF_ERROR(Note("sweep_resumed", {.sweep = sweep->record.id}, at));
  return CountUnfinished(*sweep);
}

// Takes every pause away. True if there was one, or the sweep was canceled.
Result<bool> Coordinator::MakeActive(SweepEntry& sweep, const Moment& at) {
  bool changed = sweep.record.intent != SweepIntent::kActive;
  if (changed) {
    GYRE_ASSIGN_OR_RETURN(sweep.record.intent, Next(sweep.record.intent, SweepStep::kResume));
    sweep.record.pause_reason.clear();
    sweep.record.resumed_at = FormatUtc(at.wall);
    GYRE_RETURN_IF_ERROR(store_->UpdateIntent(sweep.record));
  }
  for (const int64_t id : sweep.jobs) {
    JobEntry& job = *state_.FindJob(id);
    if (!job.record.paused) continue;
    state_.SetPaused(job, false);
    GYRE_RETURN_IF_ERROR(store_->Update(job.record));
    changed = true;
  }
  return changed;
}

Result<TargetReply> Coordinator::ResumeJob(int64_t id, const Moment& at) {
  GYRE_ASSIGN_OR_RETURN(JobEntry * job, NamedJob(id, "resume"));
  const SweepRecord& sweep = state_.FindSweep(job->record.sweep_id)->record;
  if (sweep.intent == SweepIntent::kPaused) {
    return FailedPrecondition("the sweep of " + InWords(*job) + ", '" + sweep.name +
                              "', is paused as a whole; gyre resume " + sweep.name +
                              " goes on with it");
  }
  if (job->record.paused) {
    state_.SetPaused(*job, false);
    GYRE_RETURN_IF_ERROR(store_->Update(job->record));
    GYRE_RETURN_IF_ERROR(Note("job_resumed", {.job = job}, at));
  }
  return TargetReply{.jobs = HasEnded(job->record.state) ? 0 : WithFollowers(*job)};
}

Result<TargetReply> Coordinator::RetrySweep(const std::string& name, const Moment& at) {
  GYRE_ASSIGN_OR_RETURN(SweepEntry * sweep, NamedSweep(name));
  GYRE_ASSIGN_OR_RETURN(bool changed, MakeActive(*sweep, at));
  GYRE_ASSIGN_OR_RETURN(const int jobs, ReviveJobs(*sweep, at));
  changed |= jobs > 0;
  if (changed) {
    GYRE_RETURN_IF_ERROR(
        Note("sweep_retried", {.sweep = sweep->record.id, .details = {{"requeued", jobs}}}, at));
  }
  return TargetReply{.jobs = jobs};
}

Result<TargetReply> Coordinator::RetryJob(int64_t id, const Moment& at) {
  GYRE_ASSIGN_OR_RETURN(JobEntry * job, NamedJob(id, "retry"));
  if (job->record.state == JobState::kSucceeded) {
    return FailedPrecondition(InWords(*job) + " has succeeded; submit with --fresh to train again");
  }
  if (job->record.state == JobState::kStoppedEarly) {
    return FailedPrecondition(InWords(*job) + " was stopped early (" + job->record.stop_reason +
                              "); to train it all the way, submit it without stop_early");
  }
  SweepEntry& sweep = *state_.FindSweep(job->record.sweep_id);
  // What it was canceled with goes, so that the job may run; the others stay CANCELED.
  if (sweep.record.intent == SweepIntent::kCanceled) {
    GYRE_RETURN_IF_ERROR(MakeActive(sweep, at).status());
    GYRE_RETURN_IF_ERROR(Note("sweep_resumed", {.sweep = sweep.record.id}, at));
  }
  TargetReply reply;
  GYRE_ASSIGN_OR_RETURN(reply.jobs, Revive(*job, at));
  if (sweep.record.intent == SweepIntent::kPaused) {
    reply.note = "its sweep is paused; gyre resume " + sweep.record.name + " goes on";
  }
  return reply;
}

Result<int> Coordinator::ReviveJobs(SweepEntry& sweep, const Moment& at) {
  int revived = 0;
  for (const int64_t id : sweep.jobs) {
    JobEntry& job = *state_.FindJob(id);
    if (job.record.reused_from) continue;  // follows
    GYRE_ASSIGN_OR_RETURN(const int jobs, Revive(job, at));
    revived += jobs;
  }
  return revived;
}

// A job that has FAILED or was CANCELED is queued with nothing held against it; one that was told
// to stop and has not yet goes on. 0 = it is neither.
Result<int> Coordinator::Revive(JobEntry& job, const Moment& at) {
  const bool ended_badly =
      job.record.state == JobState::kFailed || job.record.state == JobState::kCanceled;
  if (!ended_badly && !job.record.cancel_requested) return 0;
  job.record.cancel_requested = false;
  if (!ended_badly) {
    GYRE_RETURN_IF_ERROR(store_->Update(job.record));
    GYRE_RETURN_IF_ERROR(Note("job_resumed", {.job = &job, .attempt = job.record.attempt}, at));
    return WithFollowers(job);
  }
  job.record.failures = job.record.losses = job.record.memory_failures = 0;
  job.record.ran_ms = 0;
  job.record.stop_reason.clear();  // it may have been told so before it was canceled
  job.record.forgiven = job.record.attempt;
  job.record.paused = false;
  GYRE_RETURN_IF_ERROR(MoveJob(job, JobStep::kRevive, "", Millis(0), at));
  return WithFollowers(job);
}

}  // namespace gyre
