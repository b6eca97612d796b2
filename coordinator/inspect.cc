// What people ask, out of memory; and the check that memory and database agree.

#include <algorithm>
#include <utility>

#include "coordinator/coordinator.h"
#include "coordinator/explain.h"

namespace gyre {
namespace {

constexpr size_t kShownNames = 20;

void Count(JobState state, JobCountsReply* counts) {
  switch (state) {
    case JobState::kQueued:
      ++counts->queued;
      break;
    case JobState::kRunning:
      ++counts->running;
      break;
    case JobState::kSucceeded:
      ++counts->succeeded;
      break;
    case JobState::kFailed:
      ++counts->failed;
      break;
    case JobState::kStoppedEarly:
      ++counts->stopped_early;
      break;
    case JobState::kCanceled:
      ++counts->canceled;
      break;
  }
}

}  // namespace

Status Coordinator::NoSuchSweep(const std::string& name) {
  std::string names;
  size_t shown = 0;
  const auto& sweeps = state_.sweeps();
  for (auto sweep = sweeps.rbegin(); sweep != sweeps.rend() && shown < kShownNames;
       ++sweep, ++shown) {
    names += (names.empty() ? "" : ", ") + sweep->second.record.name;
  }
  return NotFound("no sweep is called '" + name + "'" +
                  (names.empty() ? "; there are no sweeps" : "; there are: " + names));
}

RunningJobReply Coordinator::DescribeRunning(const JobEntry& job) {
  RunningJobReply reply;
  reply.job_id = job.record.id;
  reply.sweep_id = job.record.sweep_id;
  reply.sweep = state_.FindSweep(job.record.sweep_id)->record.name;
  reply.variant = state_.VariantName(job.record.variant_id);
  reply.seed = job.record.seed;
  reply.attempt = job.live->record.number;
  if (const WorkerEntry* worker = state_.FindWorker(job.live->record.worker_id)) {
    reply.worker = worker->record.name;
  }
  reply.tokens_budget = job.record.tokens_budget;
  reply.progress = job.live->progress;
  reply.suspected_at = job.live->record.suspected_at.value_or("");
  return reply;
}

SweepReply Coordinator::Describe(const SweepEntry& sweep, bool with_jobs) {
  SweepReply reply;
  reply.sweep = sweep.record;
  reply.last_event_id = sweep.last_event_id;
  reply.problem = Problem();
  std::map<int64_t, VariantReply> variants;  // by id, which is the order of the file
  for (const int64_t id : sweep.jobs) {
    const JobEntry& job = *state_.FindJob(id);
    VariantReply& variant = variants[job.record.variant_id];
    Count(job.record.state, &reply.jobs);
    Count(job.record.state, &variant.jobs);
    // A follower's tokens are its origin's.
    if (!job.record.reused_from) {
      reply.differing_points += job.record.differing_points;
      variant.tokens_budget += job.record.tokens_budget;
      variant.tokens_done += std::min(job.record.tokens_done, job.record.tokens_budget);
    }
    if (!with_jobs) continue;
    if (job.live != nullptr) reply.running.push_back(DescribeRunning(job));
    if (job.record.state == JobState::kFailed) {
      reply.failures.push_back(
          {id, state_.VariantName(job.record.variant_id), job.record.seed, job.record.error});
    }
    if (job.record.state == JobState::kStoppedEarly) {
      reply.stopped_early.push_back(
          {id, state_.VariantName(job.record.variant_id), job.record.seed, job.record.stop_reason});
    }
  }
  for (auto& [id, variant] : variants) {
    reply.tokens_budget += variant.tokens_budget;
    reply.tokens_done += variant.tokens_done;
    if (!with_jobs) continue;
    variant.variant = state_.VariantName(id);
    reply.variants.push_back(std::move(variant));
  }
  if (with_jobs && sweep.record.intent == SweepIntent::kActive && reply.jobs.queued > 0) {
    std::vector<const WorkerRecord*> workers;
    for (const auto& [id, worker] : state_.workers()) workers.push_back(&worker.record);
    reply.waiting = WhyNoneFits(sweep.record.resources, workers);
  }
  return reply;
}

Result<int64_t> Coordinator::FindSweepId(const std::string& name) {
  const SweepEntry* sweep = state_.FindSweep(name);
  if (sweep == nullptr) return NoSuchSweep(name);
  return sweep->record.id;
}

Result<SweepReply> Coordinator::GetSweep(const std::string& name) {
  const SweepEntry* sweep = state_.FindSweep(name);
  if (sweep == nullptr) return NoSuchSweep(name);
  return Describe(*sweep, /*with_jobs=*/true);
}

std::vector<SweepReply> Coordinator::ListSweeps() {
  std::vector<SweepReply> replies;
  const auto& sweeps = state_.sweeps();
  for (auto sweep = sweeps.rbegin(); sweep != sweeps.rend(); ++sweep) {
    replies.push_back(Describe(sweep->second, /*with_jobs=*/false));
  }
  return replies;
}

std::string Coordinator::Problem() const {
  if (health_.ok()) return "";
  return "the results database cannot be written, and nothing new is taken until it can: " +
         health_.message();
}

ClusterReply Coordinator::GetCluster() {
  ClusterReply reply;
  reply.problem = Problem();
  for (const auto& [id, worker] : state_.workers()) {
    reply.workers.push_back({worker.record, static_cast<int>(worker.jobs.size()), worker.problem});
  }
  for (const auto& [id, sweep] : state_.sweeps()) {
    if (sweep.unfinished == 0) continue;
    reply.queued += static_cast<int>(sweep.ready.size() + sweep.delayed.size() + sweep.held.size());
    reply.sweeps.push_back(Describe(sweep, /*with_jobs=*/true));
  }
  return reply;
}

Status Coordinator::CheckInvariants() {
  if (is_stale_) return OkStatus();  // known, and read anew before anything else
  GYRE_ASSIGN_OR_RETURN(const Snapshot snapshot, store_->Load());
  size_t live = 0;
  for (const JobRecord& row : snapshot.jobs) {
    const JobEntry* job = state_.FindJob(row.id);
    const std::string name = "job " + std::to_string(row.id);
    if (job == nullptr) return Internal(name + " is in the file and not in memory");
    if (job->record.state != row.state || job->record.attempt != row.attempt ||
        job->record.failures != row.failures || job->record.losses != row.losses ||
        job->record.memory_failures != row.memory_failures ||
        job->record.stop_reason != row.stop_reason || job->record.forgiven != row.forgiven ||
        job->record.differing_points != row.differing_points || job->record.paused != row.paused ||
        job->record.cancel_requested != row.cancel_requested) {
      return Internal(name + " differs between memory and file");
    }
    if (row.reused_from) {
      if (job->live != nullptr) return Internal(name + " follows another and runs");
      if (row.state != state_.FindJob(*row.reused_from)->record.state) {
        return Internal(name + " does not follow job " + std::to_string(*row.reused_from));
      }
      continue;
    }
    const SweepEntry& sweep = *state_.FindSweep(row.sweep_id);
    const bool held = sweep.held.contains(row.id);
    const bool queued = held || sweep.ready.contains(row.id) || sweep.delayed.contains(row.id);
    if (queued != (row.state == JobState::kQueued) || (queued && held != row.paused))
      return Internal(name + " and the queue disagree");
    if ((job->live != nullptr) != (row.state == JobState::kRunning)) {
      return Internal(name + " runs without a live attempt, or has one and does not run");
    }
    if (job->live != nullptr) ++live;
  }
  if (live != snapshot.live.size() || live != state_.live().size()) {
    return Internal("live attempts differ between memory and file");
  }
  if (board_.size() != live) return Internal("the board of leases has some that are not live");
  for (const AttemptRecord& row : snapshot.live) {
    const JobEntry& job = *state_.FindJob(row.job_id);
    const LiveAttempt& attempt = *job.live;
    if (board_.Find({row.job_id, row.number, row.incarnation, row.epoch}) != DesireOf(job)) {
      return Internal("the board of leases is wrong about job " + std::to_string(row.job_id));
    }
    if (attempt.record.number != row.number || attempt.record.state != row.state ||
        attempt.record.last_sequence != row.last_sequence || attempt.record.epoch != row.epoch ||
        attempt.record.incarnation != row.incarnation ||
        attempt.record.suspected_at != row.suspected_at ||
        attempt.lost_at.has_value() != row.suspected_at.has_value()) {
      return Internal("the attempt of job " + std::to_string(row.job_id) +
                      " differs between memory and file");
    }
  }
  for (auto& [id, sweep] : state_.sweeps()) {
    const auto unfinished = std::count_if(sweep.jobs.begin(), sweep.jobs.end(), [&](int64_t job) {
      return !HasEnded(state_.FindJob(job)->record.state);
    });
    if (unfinished != sweep.unfinished)
      return Internal("sweep " + std::to_string(id) + " is miscounted");
  }
  return OkStatus();
}

}  // namespace gyre
