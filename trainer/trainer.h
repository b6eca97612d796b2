#pragma once

// The training loop of one job: batches in, points and checkpoints out. It knows no worker and no
// wire; `serve.h` puts it behind a pipe, `main.cc` behind a command.

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/status.h"
#include "trainer/config/job_config.h"

namespace gyre {

class Communicator;       // trainer/collective/communicator.h
struct StatisticsRecord;  // trainer/statistics/record.h

struct PointValue {
  std::string metric;
  int64_t step = 0, tokens = 0;
  double value = 0;  // may be NaN or infinite
};

struct CheckpointInfo {
  std::string hash;  // objects/HASH
  int64_t bytes = 0;
  int64_t step = 0, tokens = 0;
  bool weights_only = false;  // the final one
};

struct TrainProgress {
  int64_t step = 0, tokens = 0;
  double tokens_per_second = 0, loss = 0;
};

/// Where a trainer's words go. Called from the training thread, in order.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  /// First: what the bits of this attempt depend on, as Fingerprint() says, with its precision
  /// unless that is float32.
  virtual void OnStart(const Json& /*fingerprint*/) {}
  virtual void OnPoint(const PointValue& point) = 0;
  virtual void OnStatistics(const StatisticsRecord& /*record*/) {}
  virtual void OnCheckpoint(const CheckpointInfo& checkpoint) = 0;
  virtual void OnProgress(const TrainProgress& progress) = 0;  // a few times a second at most
  /// A checkpoint could not be written for want of room: one in the middle is left out, the last
  /// weights are tried again every second, and this is said each time.
  virtual void OnDiskFull(const std::string& /*message*/) {}
};

/// Set from another thread; looked at between steps.
struct TrainControl {
  std::atomic<bool> stop{false};        // write a checkpoint, then return with `stopped`
  std::atomic<bool> checkpoint{false};  // write one now
};

struct TrainOutcome {
  int64_t step = 0, tokens = 0;
  bool stopped = false;
  std::optional<int64_t> diverged_at_step;  // loss or gradient was not finite; training ended there
  double tokens_per_second = 0;             // of this attempt, evaluations and all
  int64_t peak_memory_bytes = 0;
};

/// See trainer/backend/create_backend.h.
inline constexpr char kDefaultBackend[] = "cpu";

struct TrainOptions {
  std::filesystem::path home;  // datasets/HASH, objects/HASH
  std::string resume_from;     // hash of a checkpoint, or empty
  int threads = 1;
  std::string backend = kDefaultBackend;
  Communicator* ranks = nullptr;  // of a job on several devices; outlives the call
};

/// Trains the job to its budget. The same job gives the same points, bit for bit, however often it
/// was stopped and resumed; a resumed attempt reports the points after its checkpoint. Points and
/// statistics of step s come before the checkpoint of s.
/// - train/loss: at the steps of ReportsLossAt (schedule.h), the batch of that update
/// - train/learning_rate, train/gradient_norm: at the evaluated steps but 0
/// - SET/loss_sample: at the evaluated steps
/// - train/micro_batch: where the job goes on with half as many rows at a time for want of memory,
///   that many
/// - at the end: what final_evaluation.h and intervention_evaluation.h list
/// A budget of no tokens evaluates the weights that the job starts from: step 0 and the end at
/// once, in the memory of forward passes, without a checkpoint. Statistics: at the steps of
/// CollectsAt (schedule.h) what config.statistics names; at the end, in a record of its own, the
/// losses of documents.
///
/// A damaged checkpoint is DATA_LOSS, one of another job FAILED_PRECONDITION; a missing data set
/// NOT_FOUND; out of memory RESOURCE_EXHAUSTED. A full disk is waited out (OnDiskFull).
///
/// With ranks (ranks.h), every rank is called with the same job and checkpoint, and all end alike;
/// the observer of rank 0 alone is told anything. What one rank is told by its control, all do. A
/// rank that fails leaves the others; theirs is then UNAVAILABLE, and says which rank and why.
Result<TrainOutcome> Train(const TrainerJob& job, const TrainOptions& options,
                           TrainObserver& observer, TrainControl& control);

/// What the bits of a result depend on beside the job: {"backend", "instruction_set", "threads",
/// "libraries", "numerics"}, and "ranks" if there is more than one; an attempt that trains in bf16
/// has {"precision": "bf16"} in its own too.
Json Fingerprint(const std::string& backend, int threads, int ranks = 1);

}  // namespace gyre
