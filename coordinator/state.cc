#include "coordinator/state.h"

#include <algorithm>
#include <utility>

#include "coordinator/retry.h"

namespace gyre {

std::string NodeOf(const std::string& worker_name) {
  return worker_name.substr(0, worker_name.rfind('/'));
}

namespace {

template <typename Map, typename Key>
auto* Find(Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace

State::State(Snapshot snapshot, const Timing& timing, const Moment& at) {
  for (SweepRecord& sweep : snapshot.sweeps) Add(std::move(sweep));
  for (const VariantRecord& variant : snapshot.variants) Add(variant);
  for (WorkerRecord& worker : snapshot.workers) {
    Add(std::move(worker)).silent_at = at.now + timing.first_grace;
  }
  for (JobRecord& job : snapshot.jobs) {
    const int failures = std::max(job.failures, job.memory_failures);
    JobEntry& entry = Add(std::move(job));
    if (failures > 0 && entry.record.state == JobState::kQueued) {
      const Millis backoff(FindSweep(entry.record.sweep_id)->record.retry_backoff_ms);
      const Millis pause =
          Jittered(BackoffAfter(failures, backoff), entry.record.id, entry.record.attempt);
      SetJobState(entry, JobState::kQueued, at.now + pause);
    }
  }
  for (const StrikeRecord& strike : snapshot.strikes) {
    JobEntry* job = FindJob(strike.job_id);
    const WorkerEntry* worker = FindWorker(strike.worker_id);
    const bool counts = IsStrikeOfNode(strike.state, CauseOf(strike.error_code, strike.error));
    if (counts && job != nullptr && worker != nullptr) AddStrike(*job, *worker);
  }
  for (AttemptRecord& record : snapshot.live) {
    auto live = std::make_unique<LiveAttempt>();
    live->leased_at = at.now - std::max(at.wall - record.started_at, Millis(0));
    live->expires_at = at.now + timing.first_grace;
    if (record.suspected_at) live->lost_at = live->expires_at + timing.suspect_grace;
    live->record = std::move(record);
    if (JobEntry* job = FindJob(live->record.job_id)) {
      live->progress.tokens = job->record.tokens_done;
      SetLive(*job, std::move(live));
    }
  }
}

SweepEntry* State::FindSweep(int64_t id) { return Find(sweeps_, id); }

SweepEntry* State::FindSweep(const std::string& name) {
  const int64_t* id = Find(sweeps_by_name_, name);
  return id != nullptr ? FindSweep(*id) : nullptr;
}

JobEntry* State::FindJob(int64_t id) { return Find(jobs_, id); }

WorkerEntry* State::FindWorker(int64_t id) { return Find(workers_, id); }

WorkerEntry* State::FindWorkerByName(const std::string& name) {
  const int64_t* id = Find(workers_by_name_, name);
  return id != nullptr ? FindWorker(*id) : nullptr;
}

WorkerEntry* State::FindWorkerByIncarnation(const std::string& incarnation) {
  const int64_t* id = Find(workers_by_incarnation_, incarnation);
  return id != nullptr ? FindWorker(*id) : nullptr;
}

const std::string& State::VariantName(int64_t variant_id) const { return variants_.at(variant_id); }

SweepEntry& State::Add(SweepRecord sweep) {
  sweeps_by_name_[sweep.name] = sweep.id;
  SweepEntry& entry = sweeps_[sweep.id];
  const auto [known, added] =
      submitters_.emplace(sweep.submitted_by, static_cast<int>(submitters_.size()));
  if (added) served_.push_back(0);
  entry.submitter = known->second;
  entry.record = std::move(sweep);
  return entry;
}

void State::Add(const VariantRecord& variant) {
  variants_[variant.id] = variant.name;
  if (variant.baseline_id) MarkBaseline(*variant.baseline_id);
}

void State::Rename(SweepEntry& sweep, std::string name) {
  sweeps_by_name_.erase(sweep.record.name);
  sweep.record.name = std::move(name);
  sweeps_by_name_[sweep.record.name] = sweep.record.id;
}

JobEntry& State::Add(JobRecord job) {
  JobEntry& entry = jobs_[job.id];
  entry.record = std::move(job);
  SweepEntry& sweep = *FindSweep(entry.record.sweep_id);
  sweep.jobs.push_back(entry.record.id);
  if (!HasEnded(entry.record.state)) ++sweep.unfinished;
  if (entry.record.reused_from) {
    jobs_[*entry.record.reused_from].followers.push_back(entry.record.id);
  } else if (entry.record.state == JobState::kQueued) {
    (entry.record.paused ? sweep.held : sweep.ready).insert(entry.record.id);
  }
  return jobs_[entry.record.id];
}

WorkerEntry& State::Add(WorkerRecord worker) {
  workers_by_name_[worker.name] = worker.id;
  workers_by_incarnation_[worker.incarnation] = worker.id;
  WorkerEntry& entry = workers_[worker.id];
  entry.last_seen_written = worker.last_seen_at;
  entry.record = std::move(worker);
  for (auto& [id, sweep] : sweeps_) {
    for (auto& [job, avoided] : sweep.avoided) SetAvoided(*FindJob(job));
  }
  return entry;
}

void State::SetIncarnation(WorkerEntry& worker, const std::string& incarnation) {
  workers_by_incarnation_.erase(worker.record.incarnation);
  worker.record.incarnation = incarnation;
  workers_by_incarnation_[incarnation] = worker.record.id;
  worker.heartbeats = 0;
}

void State::SetJobState(JobEntry& job, JobState state, Millis not_before) {
  SweepEntry& sweep = *FindSweep(job.record.sweep_id);
  sweep.unfinished += (HasEnded(state) ? 0 : 1) - (HasEnded(job.record.state) ? 0 : 1);
  job.record.state = state;
  if (job.record.reused_from) return;  // never runs by itself
  if (HasEnded(state)) ForgetStrikes(job);
  sweep.ready.erase(job.record.id);
  sweep.delayed.erase(job.record.id);
  sweep.held.erase(job.record.id);
  if (state != JobState::kQueued) return;
  if (job.record.paused) {
    sweep.held.insert(job.record.id);
  } else if (not_before > Millis(0)) {
    sweep.delayed[job.record.id] = not_before;
  } else {
    sweep.ready.insert(job.record.id);
  }
}

void State::SetPaused(JobEntry& job, bool paused) {
  job.record.paused = paused;
  SetJobState(job, job.record.state, Millis(0));
}

void State::SetLive(JobEntry& job, std::unique_ptr<LiveAttempt> live) {
  job.live = std::move(live);
  live_.insert(job.record.id);
  if (WorkerEntry* worker = FindWorker(job.live->record.worker_id)) {
    worker->jobs.insert(job.record.id);
  }
}

void State::ClearLive(JobEntry& job) {
  if (WorkerEntry* worker = FindWorker(job.live->record.worker_id)) {
    worker->jobs.erase(job.record.id);
  }
  live_.erase(job.record.id);
  job.live.reset();
}

void State::AddStrike(JobEntry& job, const WorkerEntry& worker) {
  if (++job.strikes_at[NodeOf(worker.record.name)] >= kStrikesUntilAvoided) SetAvoided(job);
}

void State::SetAvoided(JobEntry& job) {
  std::set<int64_t>& avoided = FindSweep(job.record.sweep_id)->avoided[job.record.id];
  for (const auto& [id, worker] : workers_) {
    const auto strikes = job.strikes_at.find(NodeOf(worker.record.name));
    const bool bad = strikes != job.strikes_at.end() && strikes->second >= kStrikesUntilAvoided;
    if (bad) avoided.insert(id);
  }
}

void State::ForgetStrikes(JobEntry& job) {
  job.strikes_at.clear();
  FindSweep(job.record.sweep_id)->avoided.erase(job.record.id);
}

void State::MarkServed(SweepEntry& sweep) {
  sweep.served = served_[static_cast<size_t>(sweep.submitter)] = ++grants_;
}

}  // namespace gyre
