#pragma once

// How sweeps and the cluster stand, as plain values: read from the database or from a coordinator's
// answer, printed or written as JSON. A sweep's progress is derived from its jobs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "results/database.h"

namespace gyre {

struct JobCounts {
  int queued = 0, running = 0, succeeded = 0, failed = 0, stopped_early = 0, canceled = 0;

  int total() const { return queued + running + succeeded + failed + stopped_early + canceled; }
  int ended() const { return total() - queued - running; }
  friend bool operator==(const JobCounts&, const JobCounts&) = default;
};

/// A job that runs, or that a report says ran a moment ago.
struct RunningJobStatus {
  int64_t job_id = 0;
  std::string sweep, variant;
  uint64_t seed = 0;
  std::string worker;
  int attempt = 0;
  int64_t step = 0, tokens = 0, tokens_budget = 0;
  double tokens_per_second = 0;  // 0 = not known
  std::optional<double> loss;    // of the last step reported
  std::string
      suspected_at;  // since then its worker is silent beyond its lease; empty = it is heard of
};

struct FailedJobStatus {
  int64_t job_id = 0;
  std::string variant;
  uint64_t seed = 0;
  std::string error;
};

struct VariantStatus {
  std::string variant;
  JobCounts jobs;
  int64_t tokens_done = 0, tokens_budget = 0;  // as in SweepStatus
};

struct SweepStatus {
  int64_t id = 0;
  std::string name, question;
  std::string intent;  // ACTIVE | PAUSED | CANCELED
  std::string baseline, submitted_at;
  JobCounts jobs;
  int64_t tokens_done = 0,
          tokens_budget = 0;  // of the jobs that train here: no twins, no reused ones
  int64_t last_event_id = 0;
  std::vector<RunningJobStatus> running;
  std::vector<FailedJobStatus> failures;
  std::vector<FailedJobStatus> stopped_early;  // `error` is the reason
  std::vector<VariantStatus> variants;         // in the order of the file
  std::string pause_reason;                    // why it paused itself; empty when it did not
  std::string waiting;  // why no worker can take its queued jobs; a coordinator says it, no file
  std::string problem;  // of the coordinator, e.g. that its disk is full; no file says it
  int64_t differing_points = 0;  // that came again with another value under the same fingerprint

  bool ended() const { return jobs.ended() == jobs.total(); }
  /// Of what is left nothing starts before somebody does something.
  bool paused_itself() const { return intent == "PAUSED" && !pause_reason.empty() && !ended(); }
};

/// What a worker computes with.
struct WorkerDevice {
  std::string name, kind, model;  // "cuda:0", "cuda", "NVIDIA H100"
  int64_t memory_bytes = 0;
};

struct WorkerStatus {
  std::string name, state;  // ACTIVE | GONE
  std::string version;
  int slots = 0, busy = 0, cpus = 0;
  int64_t memory_bytes = 0;
  std::string last_seen_at;
  std::string problem;  // what keeps it from working now; empty = nothing, or read from a file
  std::vector<WorkerDevice> devices;
};

struct ClusterStatus {
  std::vector<WorkerStatus> workers;
  std::vector<SweepStatus> sweeps;  // with jobs queued or running
  int queued = 0;
  std::string version;  // of the coordinator; empty when read from a file
  std::string problem;  // of the coordinator
};

/// NOT_FOUND: no such sweep; the message lists those there are.
Result<SweepStatus> ReadSweepStatus(const Database& database, const std::string& name);
Result<ClusterStatus> ReadClusterStatus(const Database& database);

/// {"sweep", "intent", "jobs": {"queued", "running", "succeeded", "failed", "stopped_early",
/// "canceled"}, ...}.
std::string SweepStatusToJson(const SweepStatus& sweep);
/// {"workers": [..], "sweeps": [..], "queued", "version"}.
std::string ClusterStatusToJson(const ClusterStatus& cluster);

}  // namespace gyre
