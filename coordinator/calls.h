#pragma once

// What is said to a coordinator and what it answers, as plain structs: the two services of
// proto/gyre/v1 without the wire. The contract of each call stands in the .proto; convert.h
// translates.

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "coordinator/store/records.h"
#include "trainer/statistics/record.h"

namespace gyre {

// From workers.

struct AttemptRef {
  int64_t job = 0;
  int number = 0;
  std::string incarnation;  // of the worker that says it holds the attempt
  std::string epoch;        // in which it was leased
};

/// Why a call about an attempt comes too late.
struct Superseded {
  enum class Reason { kNoSuchJob, kOtherEpoch, kOtherIncarnation, kLost, kEnded };
  Reason reason = Reason::kNoSuchJob;
  int current_attempt = 0;  // of the job
  std::string job_state;
  std::string why;  // in words
};

enum class AttemptOutcome { kSucceeded, kFailed, kStopped, kLost };

/// What an earlier process of a worker has left behind.
struct LeftAttempt {
  AttemptRef attempt;
  int64_t step = 0;
  std::optional<AttemptOutcome> outcome;  // none: it did not come so far
};
enum class WorkerDesire { kContinue, kStop, kDrop };

struct RegisterCall {
  std::string name, incarnation, version;
  int protocol = 0, oldest_protocol = 0;  // the newest and the oldest version that it speaks
  int slots = 0, cpus = 0;
  int64_t memory_bytes = 0;
  std::vector<DeviceRecord> devices;
  std::vector<LeftAttempt> left;
};
struct RegisterReply {
  int64_t worker_id = 0;
  Millis heartbeat{0}, lease{0};
  int protocol = 0;  // the newest that both speak
  /// One for each of `left`, in the same order: deliver the rest of it, or drop it.
  std::vector<WorkerDesire> left;
};

struct AcquireCall {
  std::string incarnation;
  Millis wait{0};
  int slots = 0, cpus = 0;
  int64_t memory_bytes = 0;
  std::string device = "cpu";          // of a job that asks for no GPU
  std::vector<std::string> free_gpus;  // in the order in which jobs get them
};
struct LeaseReply {
  int64_t job_id = 0;
  int attempt = 0;
  std::string sweep, variant;
  std::string job;              // TrainerJob as JSON
  std::string checkpoint_hash;  // empty = from the start
  int64_t checkpoint_step = 0;
  int cpus = 1;
  Millis lease{0};
  std::string device;
  int gpus = 0;  // that are the job's alone
  std::string epoch;
};

struct AttemptProgress {
  int64_t step = 0, tokens = 0;
  double tokens_per_second = 0;
  double loss = std::numeric_limits<double>::quiet_NaN();  // NaN = none yet
};
struct HeldAttempt {
  int64_t job = 0;
  int number = 0;
  AttemptProgress progress;
  std::string epoch;
  std::optional<AttemptOutcome> outcome;  // it has ended so, and the report of that is on its way
};
struct HeartbeatCall {
  std::string incarnation;
  std::vector<HeldAttempt> held;
  std::string problem;  // what keeps the worker from working; empty = nothing
};
/// What a worker is told of an attempt.
struct LeaseWord {
  AttemptRef attempt;
  WorkerDesire desire = WorkerDesire::kContinue;
  std::optional<Superseded> superseded;  // with kDrop
};
/// One a held attempt, in the same order.
using HeartbeatReply = std::vector<WorkerDesire>;

struct ReportPointsCall {
  AttemptRef attempt;
  int64_t sequence = 0;
  std::vector<PointRecord> points;
  std::string fingerprint;
  std::vector<StatisticsRecord> statistics;
};

struct ReportCheckpointCall {
  AttemptRef attempt;
  int64_t step = 0, tokens = 0;
  std::string hash;
  int64_t bytes = 0;
  bool weights_only = false;
  int64_t sequence = 0;
};
/// Hashes that nothing refers to any more.
using ObsoleteObjects = std::vector<std::string>;

struct FinishAttemptCall {
  AttemptRef attempt;
  AttemptOutcome outcome = AttemptOutcome::kFailed;
  int64_t last_sequence = 0;
  std::string error, error_code;
  int64_t step = 0, tokens = 0;
  std::optional<int64_t> diverged_at_step;
  int64_t peak_memory_bytes = 0;
  double tokens_per_second = 0;
  std::string fingerprint;
  bool wants_next = false;  // another job in its place
};

// From people.

/// An object made of a pretrained model; `config` is a JobConfig's JSON with its model and
/// position.
struct SubmittedWeights {
  std::string hash;
  int64_t bytes = 0;
  std::string config;
};
struct SubmitCall {
  std::string yaml, file, folder;
  std::map<std::string, std::string> extended;              // texts of other files, by path
  std::map<std::string, DatasetRecord> datasets;            // by request key
  std::map<std::string, SubmittedWeights> initial_weights;  // by the folder's absolute path
  bool replace = false, fresh = false;
  int64_t max_jobs = 0;
  std::string submitted_by;
};
struct SubmitReply {
  int64_t id = 0;
  std::string name;
  bool attached = false;
  int jobs = 0, reused = 0, finished = 0, requeued = 0;
  std::string replaced;
  std::vector<std::string> notes;
};

/// What a person names: a sweep, or a job.
struct Target {
  std::string sweep;
  int64_t job = 0;
};
struct TargetReply {
  int jobs = 0, running = 0;
  std::string note;
};

struct JobCountsReply {
  int queued = 0, running = 0, succeeded = 0, failed = 0, stopped_early = 0, canceled = 0;
};
struct RunningJobReply {
  int64_t job_id = 0, sweep_id = 0;
  std::string sweep, variant;
  uint64_t seed = 0;
  std::string worker;
  int attempt = 0;
  int64_t tokens_budget = 0;
  AttemptProgress progress;
  std::string suspected_at;  // empty = its worker is heard of
};
struct FailedJobReply {
  int64_t job_id = 0;
  std::string variant;
  uint64_t seed = 0;
  std::string error;
};
struct VariantReply {
  std::string variant;
  JobCountsReply jobs;
  int64_t tokens_done = 0, tokens_budget = 0;
};
struct SweepReply {
  SweepRecord sweep;
  JobCountsReply jobs;
  int64_t tokens_done = 0, tokens_budget = 0;  // of jobs that train, each once
  int64_t last_event_id = 0;
  std::vector<RunningJobReply> running;
  std::vector<FailedJobReply> failures;
  std::vector<FailedJobReply> stopped_early;  // `error` is the reason
  std::vector<VariantReply> variants;
  int64_t differing_points = 0;  // of its jobs, each once
  std::string waiting;           // why its queued jobs cannot start, or empty
  std::string problem;           // of the coordinator, or empty
};
/// An attempt as people look back at it.
struct AttemptReply {
  int number = 0;
  AttemptState state = AttemptState::kLeased;
  std::string worker, device, started_at, ended_at;
  int64_t resumed_from_step = 0;
  std::string error_code, error;
  int64_t peak_memory_bytes = 0;
  double tokens_per_second = 0;
  std::string after;         // what became of the job then
  std::string suspected_at;  // as in RunningJobReply
};
struct JobReply {
  JobRecord job;
  std::string sweep, variant, queued_at, why;
  std::vector<std::string> next;
  std::vector<AttemptReply> attempts;
  std::vector<std::string> warnings;  // what casts a doubt on its results
};
struct WorkerReply {
  WorkerRecord worker;
  int busy = 0;
  std::string problem;
};
struct ClusterReply {
  std::vector<WorkerReply> workers;
  std::vector<SweepReply> sweeps;  // with jobs queued or running
  int queued = 0;
  std::string problem;  // of the coordinator, or empty
};

}  // namespace gyre
