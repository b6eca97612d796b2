#pragma once

// The rows of the database that the coordinator reads back, as plain structs. What a column means
// stands in schema_sql.h. Times are milliseconds since 1970 UTC, and text in the file.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "coordinator/lifecycle.h"
#include "sweeps/spec/sweep_spec.h"

namespace gyre {

struct SweepRecord {
  int64_t id = 0;
  std::string name, description, question;
  std::string yaml, file, folder, resolved;  // not read back by Load
  std::string extended = "{}";               // the same
  SweepIntent intent = SweepIntent::kActive;
  std::string pause_reason, resumed_at;
  int priority = 0;
  std::string baseline;
  Resources resources;
  int retry_attempts = 3;
  int64_t retry_backoff_ms = 10000;
  int64_t timeout_ms = 0;
  std::optional<StopEarlyRule> stop_early;
  std::string submitted_by, submitted_at;
};

struct VariantRecord {
  int64_t id = 0, sweep_id = 0;
  std::string name;
  std::string config;                              // not read back by Load
  std::string train_dataset, validation_datasets;  // not read back by Load
  std::string initial_weights;                     // not read back by Load
  std::optional<int64_t> baseline_id;
  std::string position_type;
  std::optional<double> theta, p;
  std::optional<std::string> keep, spacing;
};

struct JobRecord {
  int64_t id = 0, sweep_id = 0, variant_id = 0;
  uint64_t seed = 0;
  std::string key;  // not read back by Load
  JobState state = JobState::kQueued;
  bool cancel_requested = false, paused = false;
  int64_t parameters = 0;  // not read back by Load
  int64_t tokens_budget = 0, tokens_done = 0;
  std::string rotation;  // not read back by Load
  std::optional<int64_t> reused_from;
  std::optional<int64_t> diverged_at_step;
  int attempt = 0, failures = 0, losses = 0, memory_failures = 0;
  int forgiven = 0;
  int64_t differing_points = 0;
  int64_t ran_ms = 0;
  std::optional<std::string> ended_at;
  std::string error, stop_reason;
};

struct AttemptRecord {
  int64_t job_id = 0;
  int number = 0;
  int64_t worker_id = 0;
  std::string incarnation, device;
  AttemptState state = AttemptState::kLeased;
  int64_t last_sequence = 0;
  Millis started_at{0};
  std::optional<int64_t> resumed_from_step;
  std::string error, error_code;
  std::optional<int64_t> peak_memory_bytes;
  std::optional<double> tokens_per_second;
  std::string fingerprint;
  std::string epoch;                        // id of the coordinator that leased it
  std::optional<std::string> suspected_at;  // since then its worker is silent beyond its lease
};

/// An attempt that FAILED or was LOST on a worker.
struct StrikeRecord {
  int64_t job_id = 0, worker_id = 0;
  AttemptState state = AttemptState::kFailed;
  std::string error_code, error;
};

/// An attempt as people look back at it. Times as the file spells them, empty = not yet.
struct PastAttempt {
  AttemptRecord record;
  std::string worker, started_at, ended_at;
};
struct JobHistory {
  std::string queued_at;
  std::vector<PastAttempt> attempts;  // in order
};

struct PointRecord {
  std::string metric;
  int64_t step = 0, tokens = 0;
  double value = 0;
};

struct CheckpointRecord {
  int64_t job_id = 0, step = 0;
  bool weights_only = false;
  std::string hash;
  int64_t tokens = 0, bytes = 0;
  int attempt = 0;
};

struct DeviceRecord {
  std::string name, kind, model;
  int64_t memory_bytes = 0;
};

struct WorkerRecord {
  int64_t id = 0;
  std::string name, incarnation, version;
  bool gone = false;
  int slots = 0, cpus = 0;
  int64_t memory_bytes = 0;
  Millis last_seen_at{0};
  std::vector<DeviceRecord> devices;
};

struct EventRecord {
  int64_t id = 0;
  std::string at;  // filled in by the store
  std::string kind;
  std::optional<int64_t> sweep_id, job_id, attempt, worker_id;
  std::string details = "{}";
};

struct DatasetRecord {
  std::string hash, name;
  int64_t tokens = 0, documents = 0, bytes = 0;
  int vocab_size = 0;
  std::string tokenizer, license, source;
};

}  // namespace gyre
