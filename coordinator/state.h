#pragma once

// What the coordinator holds in memory: the database's sweeps, jobs, live attempts and workers,
// indexed for the scheduler, and beside them what is never written: when leases expire, who was
// heard when, progress.
//
// Memory follows the database. When a transaction fails, the state is built anew from the file, as
// after a restart; so nothing here needs to be undone.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "coordinator/calls.h"
#include "coordinator/scheduler.h"
#include "coordinator/store/store.h"
#include "coordinator/timing.h"

namespace gyre {

/// A live attempt.
struct LiveAttempt {
  AttemptRecord record;
  Millis leased_at{0}, expires_at{0};
  std::optional<Millis> lost_at;  // it is suspected, and LOST if nothing is heard of it until then
  int64_t granted_at_heartbeat =
      0;                   // how many heartbeats of its worker had come when it was granted
  bool timed_out = false;  // its worker is told to stop
  AttemptProgress progress;
  bool has_ended = false;  // its worker says so, and the report of its outcome is on its way
  // The last checkpoint report and its answer, should it come again.
  std::string last_checkpoint;
  ObsoleteObjects last_obsolete;
};

struct JobEntry {
  JobRecord record;
  std::unique_ptr<LiveAttempt> live;
  std::vector<int64_t> followers;  // twins and reusers of this job
  // Failures and losses by node, for which it is not to blame alone.
  std::map<std::string, int> strikes_at;
};

struct SweepEntry {
  SweepRecord record;
  std::vector<int64_t> jobs;          // in order of id
  std::set<int64_t> ready;            // QUEUED, may start now
  std::map<int64_t, Millis> delayed;  // QUEUED, not before
  std::set<int64_t> held;             // QUEUED, and paused by its user
  /// Of unfinished jobs, the workers that they had better not go to again.
  std::map<int64_t, std::set<int64_t>> avoided;
  int unfinished = 0;     // QUEUED or RUNNING, followers included
  int submitter = 0;      // as the scheduler tells them apart
  int64_t served = 0;     // when it last got a grant, in the order of grants
  Millis longest_run{0};  // of a job that has succeeded since the coordinator's start
  int64_t last_event_id = 0;
  /// Of stop_early's metric; absent: not read from the file yet.
  std::optional<SeedCurves> curves;
};

struct WorkerEntry {
  WorkerRecord record;
  Millis silent_at{0};          // gone when not heard until then
  Millis last_seen_written{0};  // wall time
  int64_t heartbeats = 0;
  std::string problem;     // what it said keeps it from working
  std::set<int64_t> jobs;  // that it holds a lease of
};

/// Failures or losses of a job on one node until it goes elsewhere, if it can.
inline constexpr int kStrikesUntilAvoided = 2;

/// The machine, of a worker's name: HOST of HOST/N.
std::string NodeOf(const std::string& worker_name);

class State {
 public:
  State() = default;
  /// As after a coordinator's start: every lease and worker gets the first grace, every job that
  /// has failed before waits for its whole pause again.
  State(Snapshot snapshot, const Timing& timing, const Moment& at);

  SweepEntry* FindSweep(int64_t id);
  SweepEntry* FindSweep(const std::string& name);
  JobEntry* FindJob(int64_t id);
  WorkerEntry* FindWorker(int64_t id);
  WorkerEntry* FindWorkerByName(const std::string& name);
  WorkerEntry* FindWorkerByIncarnation(const std::string& incarnation);
  const std::string& VariantName(int64_t variant_id) const;
  /// Whether a variant is compared with this one.
  bool IsBaseline(int64_t variant_id) const { return baselines_.contains(variant_id); }
  void MarkBaseline(int64_t variant_id) { baselines_.insert(variant_id); }

  std::map<int64_t, SweepEntry>& sweeps() { return sweeps_; }
  std::map<int64_t, WorkerEntry>& workers() { return workers_; }
  /// Jobs with a live attempt.
  const std::set<int64_t>& live() const { return live_; }

  SweepEntry& Add(SweepRecord sweep);
  void Add(const VariantRecord& variant);
  void Rename(SweepEntry& sweep, std::string name);
  /// After its sweep; a follower after its origin.
  JobEntry& Add(JobRecord job);
  WorkerEntry& Add(WorkerRecord worker);
  void SetIncarnation(WorkerEntry& worker, const std::string& incarnation);

  /// Moves a job to a state, with the queue and the count of its sweep.
  void SetJobState(JobEntry& job, JobState state, Millis not_before);
  /// Paused or not; a queued job that is not any more may start now.
  void SetPaused(JobEntry& job, bool paused);
  void SetLive(JobEntry& job, std::unique_ptr<LiveAttempt> live);
  void ClearLive(JobEntry& job);

  /// A job has failed or was lost on a worker: from the second time on it avoids that node.
  void AddStrike(JobEntry& job, const WorkerEntry& worker);
  void ForgetStrikes(JobEntry& job);
  /// In the order of grants.
  void MarkServed(SweepEntry& sweep);
  int64_t ServedOf(int submitter) const { return served_[static_cast<size_t>(submitter)]; }

 private:
  void SetAvoided(JobEntry& job);

  std::map<int64_t, SweepEntry> sweeps_;
  std::unordered_map<std::string, int64_t> sweeps_by_name_;
  std::unordered_map<int64_t, std::string> variants_;
  std::set<int64_t> baselines_;
  std::unordered_map<int64_t, JobEntry> jobs_;
  std::map<int64_t, WorkerEntry> workers_;
  std::unordered_map<std::string, int64_t> workers_by_name_, workers_by_incarnation_;
  std::set<int64_t> live_;
  std::unordered_map<std::string, int> submitters_;
  std::vector<int64_t> served_;  // by submitter
  int64_t grants_ = 0;
};

}  // namespace gyre
