#pragma once

// What a worker says to its coordinator, as plain structs: the calls of WorkerService
// (proto/gyre/v1/worker_service.proto has their contract), without the wire. One call here is one
// attempt to be heard; whoever calls decides how often to try again. Every call ends within its own
// deadline, and soon after `stop` is requested, then with CANCELLED. All calls may be made from any
// thread, several at once.

#include <compare>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "worker/devices.h"

namespace gyre {

/// One execution of a job. The number is the fencing token, on the database of that epoch.
struct AttemptId {
  int64_t job_id = 0;
  int32_t number = 0;
  std::string epoch;
  friend auto operator<=>(const AttemptId&, const AttemptId&) = default;
};
/// "job 7 attempt 2".
std::string ToString(const AttemptId& attempt);

enum class Outcome { kSucceeded, kFailed, kStopped, kLost };
std::string_view OutcomeName(Outcome outcome);

/// What an earlier process of this worker has left to be said of an attempt.
struct LeftBehind {
  AttemptId attempt;
  int64_t step = 0;
  std::optional<Outcome> outcome;  // none: it did not come so far
};

struct Registration {
  std::string name;
  std::string version;
  int slots = 1;
  int cpus = 1;
  int64_t memory_bytes = 0;
  std::vector<DeviceInfo> devices;
  std::vector<LeftBehind> left;
};

enum class Desire { kContinue, kStop, kCheckpoint, kDrop };
struct LeaseDesire {
  AttemptId attempt;
  Desire desire = Desire::kContinue;
  std::string why;  // of kDrop, for people
};

struct Registered {
  int64_t worker_id = 0;
  Millis heartbeat{3000};
  Millis lease{12000};
  std::string store;  // names the coordinator's folder of objects; empty = not told
  std::string epoch;  // of the coordinator
  /// Of Registration::left, in the same order: kContinue = deliver the rest of it, kDrop.
  std::vector<LeaseDesire> left;
};

struct Capacity {
  int free_slots = 0;
  int free_cpus = 0;
  int64_t free_memory_bytes = 0;
  std::string device = "cpu";          // where a job that asks for no GPU would train
  std::vector<std::string> free_gpus;  // in the order in which a job that asks for GPUs gets them
};

struct Lease {
  AttemptId attempt;
  std::string sweep, variant;
  std::string job;              // TrainerJob as JSON
  std::string checkpoint_hash;  // to resume from; empty = from the start
  int64_t checkpoint_step = 0;
  int cpus = 1;
  std::string device = "cpu";  // or "cuda:1", or all GPUs of the job: "cuda:0,cuda:2"
  int gpus = 0;                // that are the job's alone; 0 = it shares its device with others
};

struct Progress {
  int64_t step = 0, tokens = 0;
  double tokens_per_second = 0;
  double loss = std::numeric_limits<double>::quiet_NaN();  // NaN = none yet
};
struct HeldLease {
  AttemptId attempt;
  Progress progress;
  std::optional<Outcome> outcome;  // it has ended so, and the report of that is not answered yet
};
struct HeartbeatAnswer {
  std::vector<LeaseDesire> desires;
  std::string epoch;  // of the coordinator
};

struct Point {
  std::string metric;
  int64_t step = 0, tokens = 0;
  double value = 0;  // may be NaN or infinite
};
/// What was measured of a model at one step: a StatisticsRecord as JSON
/// (trainer/statistics/record.h), which the worker only carries.
struct StatisticsText {
  std::string json;
};
struct PointBatch {
  AttemptId attempt;
  int64_t sequence = 0;  // from 1
  std::vector<Point> points;
  std::vector<StatisticsText> statistics;
  std::string fingerprint;  // JSON; with the first batch
};

struct Checkpoint {
  int64_t step = 0, tokens = 0;
  std::string hash;
  int64_t bytes = 0;
  bool weights_only = false;
};
struct CheckpointReport {
  AttemptId attempt;
  Checkpoint checkpoint;
  int64_t sequence = 0;  // of the last batch before it
};

struct AttemptEnd {
  AttemptId attempt;
  Outcome outcome = Outcome::kFailed;
  int64_t last_sequence = 0;
  Status error;  // OK unless failed, lost, or stopped the hard way
  int64_t step = 0, tokens = 0;
  std::optional<int64_t> diverged_at_step;
  int64_t peak_memory_bytes = 0;
  double tokens_per_second = 0;
  std::string fingerprint;
  bool wants_next = false;  // another job in its place; not part of what is kept on disk
};
/// The answer to an end that is taken.
struct Finished {
  std::vector<std::string> obsolete;  // hashes of objects that nothing refers to any more
  std::optional<Lease> next;          // the job in its place
};

/// What a trainer wrote to its log: `bytes` from `offset` of the attempt's stream on.
struct LogChunk {
  AttemptId attempt;
  int64_t offset = 0;
  std::string bytes;
};

class CoordinatorClient {
 public:
  virtual ~CoordinatorClient() = default;
  virtual Result<Registered> Register(const Registration& registration, std::stop_token stop) = 0;
  /// Waits up to `wait` at the coordinator; no lease means "ask again".
  virtual Result<std::optional<Lease>> AcquireLease(const Capacity& capacity, Millis wait,
                                                    std::stop_token stop) = 0;
  /// `problem` is what keeps the worker from working, for people; empty = nothing.
  virtual Result<HeartbeatAnswer> Heartbeat(const std::vector<HeldLease>& held,
                                            const std::string& problem, std::stop_token stop) = 0;

  // Of these, FAILED_PRECONDITION says that the attempt is superseded, and by what.
  /// How long to wait before the next batch.
  virtual Result<Millis> ReportPoints(const PointBatch& batch, std::stop_token stop) = 0;
  /// The hashes of objects that nothing refers to any more. DATA_LOSS: the coordinator does not
  /// hold this one.
  virtual Result<std::vector<std::string>> ReportCheckpoint(const CheckpointReport& report,
                                                            std::stop_token stop) = 0;
  virtual Result<Finished> FinishAttempt(const AttemptEnd& end, std::stop_token stop) = 0;
  virtual Status AppendLog(const LogChunk& chunk, std::stop_token stop) = 0;
};

/// Over gRPC. Connects in the background and again whenever the connection breaks; until there is
/// one, calls fail with UNAVAILABLE. `incarnation` goes with every call. `home` is where token and
/// authority lie; errors are those of CoordinatorChannel::Open.
Result<std::unique_ptr<CoordinatorClient>> ConnectToCoordinator(const std::string& address,
                                                                const std::filesystem::path& home,
                                                                const std::string& incarnation);

}  // namespace gyre
