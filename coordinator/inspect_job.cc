// One job as people ask for it: what keeps it, or how it came to its end.

#include <algorithm>
#include <utility>

#include "coordinator/coordinator.h"
#include "coordinator/explain.h"
#include "coordinator/fair_share.h"

namespace gyre {
namespace {

AttemptReply ToReply(const PastAttempt& past) {
  AttemptReply reply;
  reply.number = past.record.number;
  reply.state = past.record.state;
  reply.worker = past.worker;
  reply.device = past.record.device;
  reply.started_at = past.started_at;
  reply.ended_at = past.ended_at;
  reply.resumed_from_step = past.record.resumed_from_step.value_or(0);
  reply.error_code = past.record.error_code;
  reply.error = past.record.error;
  reply.peak_memory_bytes = past.record.peak_memory_bytes.value_or(0);
  reply.tokens_per_second = past.record.tokens_per_second.value_or(0);
  if (!HasEnded(past.record.state)) reply.suspected_at = past.record.suspected_at.value_or("");
  return reply;
}

// Nobody counts further.
constexpr int kMostAhead = 10'000;

std::string AsAttempt(const AttemptReply& next) {
  const std::string attempt = "attempt " + std::to_string(next.number);
  if (next.resumed_from_step == 0) return attempt + " began anew";
  return attempt + " went on from step " + std::to_string(next.resumed_from_step);
}

}  // namespace

Result<JobReply> Coordinator::GetJob(int64_t id, const Moment& at) {
  const JobEntry* job = state_.FindJob(id);
  if (job == nullptr) return NotFound("there is no job " + std::to_string(id));
  const SweepRecord& sweep = state_.FindSweep(job->record.sweep_id)->record;
  GYRE_ASSIGN_OR_RETURN(JobHistory history, store_->HistoryOf(id));
  JobReply reply{.job = job->record, .sweep = sweep.name, .queued_at = history.queued_at};
  reply.variant = state_.VariantName(job->record.variant_id);
  for (const PastAttempt& past : history.attempts) reply.attempts.push_back(ToReply(past));
  for (size_t i = 1; i < reply.attempts.size(); ++i) {
    reply.attempts[i - 1].after = AsAttempt(reply.attempts[i]);
  }
  GYRE_RETURN_IF_ERROR(AddWarnings(*job, &reply));
  if (job->record.reused_from) {
    const std::string origin = std::to_string(*job->record.reused_from);
    reply.why = "it is the same piece of work as job " + origin +
                ", and follows its state; it is not trained twice";
    reply.next = {"gyre explain " + origin};
  } else if (job->record.state == JobState::kQueued) {
    const WaitingFacts facts = WaitingFactsOf(*job, at);
    reply.why = WhyItWaits(facts);
    reply.next = WhatToDoWhileItWaits(facts);
  } else if (job->record.state == JobState::kRunning) {
    reply.why = WhyItRuns(*job, at);
  } else {
    EndingFacts facts{.job = id,
                      .sweep = sweep.name,
                      .state = job->record.state,
                      .error = job->record.error,
                      .stop_reason = job->record.stop_reason,
                      .diverged_at_step = job->record.diverged_at_step};
    if (!reply.attempts.empty()) facts.last = reply.attempts.back();
    GYRE_ASSIGN_OR_RETURN(facts.why_not_again, WhyNotAgain(*job, reply.attempts));
    reply.why = WhyItEnded(facts);
    reply.next = WhatToDoAfter(facts);
  }
  return reply;
}

Status Coordinator::AddWarnings(const JobEntry& job, JobReply* reply) {
  const JobEntry& trained = job.record.reused_from ? *state_.FindJob(*job.record.reused_from) : job;
  const int64_t count = trained.record.differing_points;
  if (count == 0) return OkStatus();
  GYRE_ASSIGN_OR_RETURN(const std::string text,
                        store_->FirstEventOf(trained.record, "nondeterminism"));
  const Json first = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  std::string example;
  if (first.is_object() && first.contains("before") && first.contains("after")) {
    const auto said = [&](const char* which) {
      return first[which]["value"].dump() + " in attempt " + first[which]["attempt"].dump();
    };
    example = ", first " + first.value("metric", "") + " at step " + first["step"].dump() + ": " +
              said("before") + ", " + said("after");
  }
  reply->warnings.push_back(
      std::to_string(count) + (count == 1 ? " point" : " points") +
      " came again with another value under the same fingerprint" + example +
      "; the later one stands, and where the job ran does not compute the same twice: do not trust "
      "small differences (gyre query \"SELECT * FROM events WHERE kind = 'nondeterminism' AND "
      "job_id "
      "= " +
      std::to_string(trained.record.id) + "\")");
  return OkStatus();
}

std::string Coordinator::WhyItRuns(const JobEntry& job, const Moment& at) {
  const LiveAttempt& live = *job.live;
  if (live.lost_at) {
    const WorkerEntry* worker = state_.FindWorker(live.record.worker_id);
    return "nothing is heard of its worker" + (worker ? " " + worker->record.name : "") +
           "; if that stays so for another " +
           InWords(std::max(*live.lost_at - at.now, Millis(0))) +
           ", the attempt is given up and the job goes on elsewhere from its last checkpoint";
  }
  if (live.has_ended) return "its trainer has ended; the last of what it reported is on its way";
  return DesireOf(job) == WorkerDesire::kStop
             ? "it was told to stop, and does as soon as its worker hears of it"
             : "it runs: step " + std::to_string(live.progress.step);
}

Result<std::string> Coordinator::WhyNotAgain(const JobEntry& job,
                                             const std::vector<AttemptReply>& attempts) {
  const SweepRecord& sweep = state_.FindSweep(job.record.sweep_id)->record;
  if (job.record.state != JobState::kFailed || attempts.empty()) return std::string();
  const AttemptReply& last = attempts.back();
  const EndedAttempt ended{job.record.id, last.number, last.state, last.error_code, last.error};
  GYRE_ASSIGN_OR_RETURN(const Strikes strikes, StrikesOf(job));
  return DecideRetry(ended, strikes, sweep.retry_attempts, Millis(sweep.retry_backoff_ms)).why_not;
}

WaitingFacts Coordinator::WaitingFactsOf(const JobEntry& job, const Moment& at) {
  const SweepEntry& sweep = *state_.FindSweep(job.record.sweep_id);
  WaitingFacts facts{.job = job.record.id,
                     .sweep = sweep.record.name,
                     .intent = sweep.record.intent,
                     .pause_reason = sweep.record.pause_reason,
                     .paused = job.record.paused};
  const auto delayed = sweep.delayed.find(job.record.id);
  if (delayed != sweep.delayed.end()) {
    facts.pause_left = std::max(delayed->second - at.now, Millis(0));
  }
  std::vector<const WorkerRecord*> workers;
  for (const auto& [id, worker] : state_.workers()) {
    workers.push_back(&worker.record);
    if (worker.record.gone) continue;
    facts.slots += worker.record.slots;
    facts.busy += static_cast<int>(worker.jobs.size());
    if (!worker.problem.empty()) facts.problems[worker.record.name] = worker.problem;
  }
  facts.unfit = WhyNoneFits(sweep.record.resources, workers);
  for (const int64_t id : state_.live()) {
    ++facts.running[state_.FindSweep(state_.FindJob(id)->record.sweep_id)->record.name];
  }
  facts.ahead = JobsAhead(View(at), at.now, job.record.id, kMostAhead);
  if (reservation_ && reservation_->job == job.record.id) {
    facts.reserved_on = state_.FindWorker(reservation_->worker)->record.name;
    if (reservation_->starts_at) {
      facts.reserved_in = std::max(*reservation_->starts_at - at.now, Millis(0));
    }
  }
  if (const auto avoided = sweep.avoided.find(job.record.id); avoided != sweep.avoided.end()) {
    for (const int64_t worker : avoided->second) {
      facts.avoided.insert(NodeOf(state_.FindWorker(worker)->record.name));
    }
  }
  return facts;
}

Status Coordinator::CheckLogWriter(const AttemptRef& attempt) {
  GYRE_ASSIGN_OR_RETURN(const std::optional<AttemptRecord> found,
                        store_->FindAttempt(attempt.job, attempt.number));
  if (found && found->incarnation == attempt.incarnation && found->epoch == attempt.epoch) {
    return OkStatus();
  }
  return FailedPrecondition("attempt " + std::to_string(attempt.number) + " of job " +
                            std::to_string(attempt.job) + " is not this worker's");
}

Status Coordinator::CheckAttempt(int64_t job, int attempt) {
  const JobEntry* entry = state_.FindJob(job);
  if (entry == nullptr) return NotFound("there is no job " + std::to_string(job));
  if (attempt >= 1 && attempt <= entry->record.attempt) return OkStatus();
  return NotFound("job " + std::to_string(job) + " has no attempt " + std::to_string(attempt) +
                  "; it has had " + std::to_string(entry->record.attempt));
}

}  // namespace gyre
