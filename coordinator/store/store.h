#pragma once

// The results database as the coordinator writes it: one transaction at a time, prepared
// statements, rows as records. It decides nothing. It guards two things by itself, inside the
// transaction: an attempt's rows change only while the attempt is live, the job's current one, and
// leased to the worker, incarnation and epoch that asks (fencing); and one coordinator at a time
// has the file (a lock on FILE.lock, and the newest epoch where locks do not hold).
//
// Once a statement inside a transaction has failed, `failed()` is true and the transaction must be
// rolled back. One thread at a time.

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "coordinator/stop_early.h"
#include "coordinator/store/records.h"
#include "results/database.h"
#include "trainer/statistics/record.h"

namespace gyre {

/// Everything that the coordinator keeps in memory.
struct Snapshot {
  std::vector<SweepRecord> sweeps;
  std::vector<VariantRecord> variants;
  std::vector<JobRecord> jobs;      // in order of id
  std::vector<AttemptRecord> live;  // LEASED or RUNNING
  std::vector<WorkerRecord> workers;
  std::vector<StrikeRecord> strikes;  // of jobs that have not ended
  int64_t last_event_id = 0;
};

/// What a lease says beyond the job's record.
struct LeaseDetails {
  std::string sweep, variant, config, key, train_dataset, validation_datasets, initial_weights;
};

/// By seed, then by job.
using SeedCurves = std::map<uint64_t, std::map<int64_t, Curve>>;

/// A point that came again with another value under the same fingerprint.
struct Nondeterminism {
  PointRecord before, after;
  int before_attempt = 0;
};

class Store {
 public:
  /// UNAVAILABLE: another coordinator has the file. DATA_LOSS: damaged, or no database.
  /// FAILED_PRECONDITION: somebody else's, or from a newer program. Messages name the file.
  static Result<std::unique_ptr<Store>> Open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const Database& database() const { return database_; }
  Result<Snapshot> Load();

  /// Notes that a coordinator starts to work on this file, under that random id. From then on
  /// transactions of this Store fail with UNAVAILABLE once another one has.
  Status StartEpoch(const std::string& id, const std::string& version, Millis wall);
  Status Begin();
  /// On failure the transaction is still to be rolled back.
  Status Commit();
  void Rollback();
  /// Moves what the write-ahead log holds into the database and gives its space back, as far as
  /// that can be done now. Outside transactions.
  void ShrinkLog();
  bool failed() const { return failed_; }
  /// Grows with every statement that writes.
  int64_t writes() const { return writes_; }

  // Sweeps.
  Result<int64_t> Insert(const SweepRecord& sweep, Millis wall);
  Result<int64_t> Insert(const VariantRecord& variant);
  Status SetBaseline(int64_t variant_id, int64_t baseline_id);
  Result<int64_t> Insert(const JobRecord& job, Millis wall);
  Status Put(const DatasetRecord& dataset);
  Status SetName(int64_t sweep_id, const std::string& name);
  /// The intent, with why and since when.
  Status UpdateIntent(const SweepRecord& sweep);
  /// Whether a pretrained model that was analysed has this name.
  Result<bool> IsModel(const std::string& name);
  Result<std::string> ResolvedOf(int64_t sweep_id);
  /// Curves of one metric, by seed and by the job that has the points: of a sweep's jobs, and those
  /// that they are the same piece of work as.
  Result<SeedCurves> CurvesOf(int64_t sweep_id, const std::string& metric);
  /// A job that SUCCEEDED with this key and has points of its own.
  Result<std::optional<int64_t>> FindFinished(const std::string& key);

  // Jobs: everything of the record that may change.
  Status Update(const JobRecord& job);

  // Attempts.
  Status Insert(const AttemptRecord& attempt);
  /// Writes what may change of a live attempt; `ended_at` when its state has ended.
  /// FAILED_PRECONDITION: fenced off.
  Status Update(const AttemptRecord& attempt, std::optional<Millis> ended_at);
  /// Leases a live attempt to another incarnation of its worker. FAILED_PRECONDITION: fenced off.
  Status SetIncarnation(const AttemptRecord& attempt, const std::string& incarnation);
  Result<std::optional<AttemptRecord>> FindAttempt(int64_t job_id, int number);
  Result<LeaseDetails> DetailsOf(int64_t job_id);
  /// Of the job's first event of that kind; empty = it has none.
  Result<std::string> FirstEventOf(const JobRecord& job, const char* kind);
  /// NOT_FOUND: no such job.
  Result<JobHistory> HistoryOf(int64_t job_id);
  /// The random id of this database.
  Result<std::string> DatabaseId();

  /// The later attempt's value stands.
  Result<std::vector<Nondeterminism>> Put(const AttemptRecord& attempt,
                                          const std::vector<PointRecord>& points);
  /// Row by row; a row that is there already is replaced.
  Status Put(const AttemptRecord& attempt, const StatisticsRecord& statistics);

  // Checkpoints. What forgets some answers the hashes that nothing refers to any more.
  /// Saves one and keeps the newest two full ones.
  Result<std::vector<std::string>> Put(const CheckpointRecord& checkpoint, Millis wall);
  /// Whether exactly this one, of this attempt, has been saved.
  Result<bool> Has(const CheckpointRecord& checkpoint);
  /// Forgets the full ones of a job that has its weights.
  Result<std::vector<std::string>> KeepOnlyWeights(int64_t job_id);
  /// The newest full one.
  Result<std::optional<CheckpointRecord>> LatestCheckpoint(int64_t job_id);
  /// Forgets the full one of this step (it was found to be damaged).
  Result<std::vector<std::string>> ForgetCheckpoint(int64_t job_id, int64_t step);
  /// Whether a checkpoint, or a job that has not succeeded, refers to this object.
  Result<bool> NeedsObject(const std::string& hash);

  // Workers.
  Result<int64_t> Insert(const WorkerRecord& worker, Millis wall);
  Status Update(const WorkerRecord& worker, Millis wall);
  Status SetDevices(const WorkerRecord& worker);

  /// Answers the event's id.
  Result<int64_t> Append(const EventRecord& event, Millis wall);

 private:
  Store(std::filesystem::path path, FileLock lock, Database database)
      : path_(std::move(path)), lock_(std::move(lock)), database_(std::move(database)) {}

  /// The prepared statement of a literal, with `values` bound from 1.
  template <typename... Values>
  Result<Statement*> Bound(const char* sql, const Values&... values);
  template <typename... Values>
  Status Run(const char* sql, const Values&... values);
  Result<bool> Step(Statement* statement);
  Status Noted(Status status);
  Status CheckOneChanged(const AttemptRecord& attempt);
  Status DropCheckpoint(int64_t job_id, int64_t step);
  Status DropCheckpoints(const char* select, int64_t job_id, std::vector<std::string>* dropped);
  Result<std::vector<std::string>> UnreferencedOf(const std::vector<std::string>& hashes);

  std::filesystem::path path_;
  FileLock lock_;
  Database database_;
  std::unordered_map<const char*, Statement> statements_;
  bool failed_ = false;
  int64_t writes_ = 0;
  int64_t epoch_ = 0;  // 0 = none has been started
};

template <typename... Values>
Result<Statement*> Store::Bound(const char* sql, const Values&... values) {
  auto found = statements_.find(sql);
  if (found == statements_.end()) {
    Result<Statement> prepared = database_.Prepare(sql);
    if (!prepared.ok()) return Noted(prepared.status());
    found = statements_.emplace(sql, *std::move(prepared)).first;
  }
  found->second.Reset();
  int index = 0;
  (found->second.Bind(++index, values), ...);
  return &found->second;
}

template <typename... Values>
Status Store::Run(const char* sql, const Values&... values) {
  ++writes_;
  GYRE_ASSIGN_OR_RETURN(Statement * statement, Bound(sql, values...));
  return Noted(statement->Run());
}

}  // namespace gyre
