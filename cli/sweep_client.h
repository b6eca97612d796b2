#pragma once

// What the command line asks of a coordinator (gyre.v1.SweepService), in our own values. Every call
// has a deadline, but for Watch(), which ends with its stop token. Thread-safe.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "cli/pretrained.h"
#include "results/compare.h"
#include "results/sweep_status.h"
#include "trainer/data/dataset.h"

namespace gyre {

class CoordinatorChannel;

inline constexpr char kDefaultCoordinator[] = "127.0.0.1:7470";

struct SweepSubmission {
  std::string yaml, file, folder;
  std::map<std::string, std::string> extended;             // texts of other files, by absolute path
  std::map<std::string, DatasetInfo> datasets;             // by DatasetRequest::Key()
  std::map<std::string, PreparedWeights> initial_weights;  // by the folder's absolute path
  bool replace = false, fresh = false;
  int64_t max_jobs = 0;
};

struct SubmittedSweep {
  int64_t id = 0;
  std::string name;
  bool attached = false;
  int jobs = 0, reused = 0;
};

/// One of the two.
struct SweepOrJob {
  std::string sweep;
  int64_t job = 0;
};
struct TargetAnswer {
  int jobs = 0;      // that the call was about
  int running = 0;   // of those, the ones that their workers have yet to stop
  std::string note;  // what else stands in the way
};

/// Something that happened. Progress, which is not kept, has id 0 and kind "progress".
struct WatchedEvent {
  int64_t id = 0;
  std::string kind;  // coordinator/lifecycle.h has the list
  int64_t sweep_id = 0, job_id = 0;
  int attempt = 0;
  std::string worker;
  std::string details;  // JSON
  RunningJobStatus progress;
};

/// The part of a coordinator that following sweeps needs.
class SweepSource {
 public:
  virtual ~SweepSource() = default;
  virtual Result<SweepStatus> GetSweep(const std::string& name) = 0;
  /// Workers, and sweeps with jobs to do. UNIMPLEMENTED: it has none to tell of.
  virtual Result<ClusterStatus> GetCluster() { return Unimplemented("no cluster is known here"); }
  /// Events after `after_id`, and new ones as they happen, until `stop` (then OK) or the connection
  /// fails.
  virtual Status Watch(int64_t after_id, const std::function<void(const WatchedEvent&)>& on_event,
                       std::stop_token stop) = 0;
};

class SweepClient : public SweepSource {
 public:
  /// INVALID_ARGUMENT: no HOST:PORT. UNAVAILABLE: nothing answers there; the message says what was
  /// tried and what to do.
  static Result<std::unique_ptr<SweepClient>> Connect(const std::string& address);
  ~SweepClient() override;

  /// Of the connection, for other clients of the same coordinator.
  const std::shared_ptr<CoordinatorChannel>& channel() const;

  Result<std::vector<SubmittedSweep>> Submit(const SweepSubmission& submission);
  Result<SweepStatus> GetSweep(const std::string& name) override;
  Result<ClusterStatus> GetCluster() override;
  Status Watch(int64_t after_id, const std::function<void(const WatchedEvent&)>& on_event,
               std::stop_token stop) override;
  // What each does stands in the .proto.
  Result<TargetAnswer> Cancel(const SweepOrJob& target);
  Result<TargetAnswer> Pause(const SweepOrJob& target);
  Result<TargetAnswer> Resume(const SweepOrJob& target);
  Result<TargetAnswer> Retry(const SweepOrJob& target);
  /// JSON as ComparisonFromJson() reads it.
  Result<std::string> Compare(const std::vector<std::string>& sweeps,
                              const CompareOptions& options);
  /// JSON as QueryTableFromJson() reads it.
  Result<std::string> Query(const std::string& sql, int64_t max_rows);

 private:
  struct Connection;
  explicit SweepClient(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

}  // namespace gyre
