#include "coordinator/store/store.h"

#include <sqlite3.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <utility>

#include "coordinator/store/schema.h"

namespace gyre {
namespace {

Result<std::vector<SweepRecord>> LoadSweeps(const Database& database) {
  GYRE_ASSIGN_OR_RETURN(
      Statement rows,
      database.Prepare("SELECT id, name, question, intent, priority, baseline, "
                       "json_extract(resources, '$.gpus'), json_extract(resources, '$.cpus'), "
                       "json_extract(resources, '$.memory_bytes'), retry_attempts, "
                       "retry_backoff_ms, timeout_ms, submitted_at, description, submitted_by, "
                       "pause_reason, resumed_at, "
                       "coalesce(json_extract(resources, '$.memory_parts'), ''), stop_early "
                       "FROM sweeps ORDER BY id"));
  std::vector<SweepRecord> sweeps;
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return sweeps;
    SweepRecord sweep;
    sweep.id = rows.Int(0);
    sweep.name = rows.Text(1);
    sweep.question = rows.Text(2);
    GYRE_ASSIGN_OR_RETURN(sweep.intent, ParseSweepIntent(rows.Text(3)));
    sweep.priority = static_cast<int>(rows.Int(4));
    sweep.baseline = rows.Text(5);
    sweep.resources.gpus = static_cast<int>(rows.Int(6));
    sweep.resources.cpus = static_cast<int>(rows.Int(7));
    sweep.resources.memory_bytes = rows.Int(8);
    sweep.retry_attempts = static_cast<int>(rows.Int(9));
    sweep.retry_backoff_ms = rows.Int(10);
    sweep.timeout_ms = rows.Int(11);
    sweep.submitted_at = rows.Text(12);
    sweep.description = rows.Text(13);
    sweep.submitted_by = rows.Text(14);
    sweep.pause_reason = rows.Text(15);
    sweep.resources.memory_parts = rows.Text(17);
    sweep.resumed_at = rows.Text(16);
    GYRE_ASSIGN_OR_RETURN(sweep.stop_early, StopEarlyFromJson(rows.Text(18)));
    sweeps.push_back(std::move(sweep));
  }
}

Result<std::vector<VariantRecord>> LoadVariants(const Database& database) {
  GYRE_ASSIGN_OR_RETURN(
      Statement rows,
      database.Prepare("SELECT id, sweep_id, name, baseline_id FROM variants ORDER BY id"));
  std::vector<VariantRecord> variants;
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return variants;
    VariantRecord variant;
    variant.id = rows.Int(0);
    variant.sweep_id = rows.Int(1);
    variant.name = rows.Text(2);
    if (!rows.IsNull(3)) variant.baseline_id = rows.Int(3);
    variants.push_back(std::move(variant));
  }
}

std::optional<int64_t> OptionalInt(const Statement& rows, int column) {
  if (rows.IsNull(column)) return std::nullopt;
  return rows.Int(column);
}

constexpr char kJobColumns[] =
    "SELECT id, sweep_id, variant_id, seed, state, cancel_requested, tokens_budget, tokens_done, "
    "reused_from, diverged_at_step, attempt, failures, losses, ran_ms, ended_at, error, paused, "
    "memory_failures, forgiven, stop_reason, differing_points FROM jobs ";

Result<JobRecord> ReadJob(const Statement& rows) {
  JobRecord job;
  job.id = rows.Int(0);
  job.sweep_id = rows.Int(1);
  job.variant_id = rows.Int(2);
  job.seed = static_cast<uint64_t>(rows.Int(3));
  GYRE_ASSIGN_OR_RETURN(job.state, ParseJobState(rows.Text(4)));
  job.cancel_requested = rows.Int(5) != 0;
  job.tokens_budget = rows.Int(6);
  job.tokens_done = rows.Int(7);
  job.reused_from = OptionalInt(rows, 8);
  job.diverged_at_step = OptionalInt(rows, 9);
  job.attempt = static_cast<int>(rows.Int(10));
  job.failures = static_cast<int>(rows.Int(11));
  job.losses = static_cast<int>(rows.Int(12));
  job.ran_ms = rows.Int(13);
  if (!rows.IsNull(14)) job.ended_at = rows.Text(14);
  job.error = rows.Text(15);
  job.paused = rows.Int(16) != 0;
  job.memory_failures = static_cast<int>(rows.Int(17));
  job.forgiven = static_cast<int>(rows.Int(18));
  job.stop_reason = rows.Text(19);
  job.differing_points = rows.Int(20);
  return job;
}

Result<std::vector<JobRecord>> LoadJobs(const Database& database) {
  GYRE_ASSIGN_OR_RETURN(Statement rows, database.Prepare(std::string(kJobColumns) + "ORDER BY id"));
  std::vector<JobRecord> jobs;
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return jobs;
    GYRE_ASSIGN_OR_RETURN(JobRecord job, ReadJob(rows));
    jobs.push_back(std::move(job));
  }
}

constexpr char kAttemptColumns[] =
    "SELECT job_id, number, worker_id, incarnation, device, state, last_sequence, "
    "CAST(round((julianday(started_at) - 2440587.5) * 86400000.0) AS INTEGER), resumed_from_step, "
    "error, error_code, peak_memory_bytes, tokens_per_second, fingerprint, epoch, suspected_at "
    "FROM attempts ";

Result<AttemptRecord> ReadAttempt(const Statement& rows) {
  AttemptRecord attempt;
  attempt.job_id = rows.Int(0);
  attempt.number = static_cast<int>(rows.Int(1));
  attempt.worker_id = rows.Int(2);
  attempt.incarnation = rows.Text(3);
  attempt.device = rows.Text(4);
  GYRE_ASSIGN_OR_RETURN(attempt.state, ParseAttemptState(rows.Text(5)));
  attempt.last_sequence = rows.Int(6);
  attempt.started_at = Millis(rows.Int(7));
  attempt.resumed_from_step = OptionalInt(rows, 8);
  attempt.error = rows.Text(9);
  attempt.error_code = rows.Text(10);
  attempt.peak_memory_bytes = OptionalInt(rows, 11);
  if (!rows.IsNull(12)) attempt.tokens_per_second = rows.Real(12);
  attempt.fingerprint = rows.Text(13);
  attempt.epoch = rows.Text(14);
  if (!rows.IsNull(15)) attempt.suspected_at = rows.Text(15);
  return attempt;
}

Result<std::vector<AttemptRecord>> LoadLiveAttempts(const Database& database) {
  GYRE_ASSIGN_OR_RETURN(Statement rows,
                        database.Prepare(std::string(kAttemptColumns) +
                                         "WHERE state IN ('LEASED', 'RUNNING') ORDER BY job_id"));
  std::vector<AttemptRecord> attempts;
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return attempts;
    GYRE_ASSIGN_OR_RETURN(AttemptRecord attempt, ReadAttempt(rows));
    attempts.push_back(std::move(attempt));
  }
}

Result<std::multimap<int64_t, DeviceRecord>> LoadDevices(const Database& database) {
  GYRE_ASSIGN_OR_RETURN(Statement rows,
                        database.Prepare("SELECT worker_id, name, kind, model, memory_bytes "
                                         "FROM devices ORDER BY worker_id, name"));
  std::multimap<int64_t, DeviceRecord> devices;
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return devices;
    devices.insert({rows.Int(0), {rows.Text(1), rows.Text(2), rows.Text(3), rows.Int(4)}});
  }
}

Result<std::vector<WorkerRecord>> LoadWorkers(const Database& database) {
  GYRE_ASSIGN_OR_RETURN(const auto devices, LoadDevices(database));
  GYRE_ASSIGN_OR_RETURN(
      Statement rows,
      database.Prepare(
          "SELECT id, name, incarnation, version, state = 'GONE', slots, cpus, memory_bytes, "
          "CAST(round((julianday(last_seen_at) - 2440587.5) * 86400000.0) AS INTEGER) "
          "FROM workers ORDER BY id"));
  std::vector<WorkerRecord> workers;
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return workers;
    WorkerRecord worker;
    worker.id = rows.Int(0);
    worker.name = rows.Text(1);
    worker.incarnation = rows.Text(2);
    worker.version = rows.Text(3);
    worker.gone = rows.Int(4) != 0;
    worker.slots = static_cast<int>(rows.Int(5));
    worker.cpus = static_cast<int>(rows.Int(6));
    worker.memory_bytes = rows.Int(7);
    worker.last_seen_at = Millis(rows.Int(8));
    const auto [first, end] = devices.equal_range(worker.id);
    for (auto device = first; device != end; ++device) worker.devices.push_back(device->second);
    workers.push_back(std::move(worker));
  }
}

Result<std::vector<StrikeRecord>> LoadStrikes(const Database& database) {
  GYRE_ASSIGN_OR_RETURN(
      Statement rows,
      database.Prepare("SELECT a.job_id, a.worker_id, a.state, a.error_code, a.error FROM jobs j "
                       "JOIN attempts a ON a.job_id = j.id AND a.number > j.forgiven "
                       "WHERE j.state IN ('QUEUED', 'RUNNING') AND j.attempt > j.forgiven + 1 "
                       "AND a.state IN ('FAILED', 'LOST')"));
  std::vector<StrikeRecord> strikes;
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return strikes;
    GYRE_ASSIGN_OR_RETURN(const AttemptState state, ParseAttemptState(rows.Text(2)));
    strikes.push_back({rows.Int(0), rows.Int(1), state, rows.Text(3), rows.Text(4)});
  }
}

// On a small disk the write-ahead log may not take what the database needs to grow by: once it has,
// neither can be written any more.
Status LimitLog(const Database& database, const std::filesystem::path& path) {
  constexpr uintmax_t kPageBytes = 4096, kUsualPages = 4000, kFewestPages = 16, kPartOfDisk = 8;
  std::error_code error;
  const auto space = std::filesystem::space(std::filesystem::absolute(path).parent_path(), error);
  if (error) return OkStatus();
  const uintmax_t pages =
      std::clamp(space.capacity / kPartOfDisk / kPageBytes, kFewestPages, kUsualPages);
  return database.Execute("PRAGMA wal_autocheckpoint=" + std::to_string(pages));
}

// Before anything is written, also beside it: a file that is somebody else's stays as it is.
Status CheckIsDatabase(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return OkStatus();
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  std::string begin(kMagic.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (file.gcount() == 0 || begin == kMagic) return OkStatus();
  return DataLoss("cannot use the database " + path.string() +
                  ": the file is not a database; name another with --db");
}

// After a stop in good order a large file is taken for whole: reading all of it takes a second for
// some hundred megabytes.
constexpr uintmax_t kAlwaysCheckedBytes = uintmax_t{256} << 20;

bool IsToBeChecked(const std::filesystem::path& path) {
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error || bytes == 0) return false;
  const uintmax_t log = std::filesystem::file_size(path.string() + "-wal", error);
  return bytes <= kAlwaysCheckedBytes || (!error && log > 0);
}

Status Check(const Database& database, const std::filesystem::path& path) {
  return database.QuickCheck().WithContext(
      "cannot use the database " + path.string() +
      " (put a backup in its place with 'gyre restore', or save what can be read with sqlite3's "
      ".recover)");
}

}  // namespace

Result<std::unique_ptr<Store>> Store::Open(const std::filesystem::path& path) {
  GYRE_RETURN_IF_ERROR(CheckIsDatabase(path));
  if (!path.parent_path().empty()) GYRE_RETURN_IF_ERROR(MakeFolders(path.parent_path()));
  Result<FileLock> lock = FileLock::TryAcquire(path.string() + ".lock");
  if (!lock.ok()) {
    if (lock.status().code() != StatusCode::kUnavailable) return lock.status();
    return Unavailable("the database " + path.string() +
                       " is in use by another coordinator; stop that one, or choose another file");
  }
  const bool check = IsToBeChecked(path);
  GYRE_ASSIGN_OR_RETURN(Database database, Database::OpenForWriting(path));
  if (check) GYRE_RETURN_IF_ERROR(Check(database, path));
  if (Status status = MigrateSchema(database); !status.ok()) {
    return status.WithContext("cannot use the database " + path.string());
  }
  GYRE_RETURN_IF_ERROR(LimitLog(database, path));
  return std::unique_ptr<Store>(new Store(path, *std::move(lock), std::move(database)));
}

Result<Snapshot> Store::Load() {
  const auto load = [&]() -> Result<Snapshot> {
    Snapshot snapshot;
    GYRE_ASSIGN_OR_RETURN(snapshot.sweeps, LoadSweeps(database_));
    GYRE_ASSIGN_OR_RETURN(snapshot.variants, LoadVariants(database_));
    GYRE_ASSIGN_OR_RETURN(snapshot.jobs, LoadJobs(database_));
    GYRE_ASSIGN_OR_RETURN(snapshot.live, LoadLiveAttempts(database_));
    GYRE_ASSIGN_OR_RETURN(snapshot.workers, LoadWorkers(database_));
    GYRE_ASSIGN_OR_RETURN(snapshot.strikes, LoadStrikes(database_));
    GYRE_ASSIGN_OR_RETURN(Statement last,
                          database_.Prepare("SELECT coalesce(max(id), 0) FROM events"));
    GYRE_RETURN_IF_ERROR(last.Step().status());
    snapshot.last_event_id = last.Int(0);
    return snapshot;
  };
  Result<Snapshot> snapshot = load();
  if (!snapshot.ok()) {
    return snapshot.status().WithContext("cannot read the database " + path_.string());
  }
  return snapshot;
}

Status Store::StartEpoch(const std::string& id, const std::string& version, Millis wall) {
  GYRE_RETURN_IF_ERROR(Run("INSERT INTO coordinators (id, version, started_at) VALUES (?,?,?)", id,
                           version, FormatUtc(wall)));
  epoch_ = database_.LastInsertId();
  return OkStatus();
}

Status Store::Begin() {
  GYRE_ASSIGN_OR_RETURN(Statement * begin, Bound("BEGIN IMMEDIATE"));
  GYRE_RETURN_IF_ERROR(Noted(begin->Run()));
  if (epoch_ == 0) return OkStatus();
  GYRE_ASSIGN_OR_RETURN(Statement * newest, Bound("SELECT max(epoch) FROM coordinators"));
  GYRE_RETURN_IF_ERROR(Step(newest).status());
  const bool is_newest = newest->Int(0) == epoch_;
  newest->Reset();
  if (is_newest) return OkStatus();
  return Noted(Unavailable("another coordinator has started on " + path_.string() +
                           " since; this one writes nothing any more, stop it"));
}

Status Store::Commit() {
  for (auto& [sql, statement] : statements_) statement.Reset();
  GYRE_ASSIGN_OR_RETURN(Statement * commit, Bound("COMMIT"));
  Status status = Noted(commit->Run());
  // Nothing that a single call did wrong comes to light this late.
  return status.code() == StatusCode::kFailedPrecondition ? Internal(status.message()) : status;
}

void Store::Rollback() {
  for (auto& [sql, statement] : statements_) statement.Reset();
  // After some errors (a full disk) SQLite has rolled back by itself.
  if (sqlite3_get_autocommit(database_.handle()) == 0) (void)database_.Execute("ROLLBACK");
  failed_ = false;
}

void Store::ShrinkLog() {
  // A reader that holds the log back is not waited for.
  (void)database_.Execute("PRAGMA busy_timeout=0");
  (void)database_.Execute("PRAGMA wal_checkpoint(TRUNCATE)");
  (void)database_.Execute("PRAGMA busy_timeout=5000");
}

Status Store::Noted(Status status) {
  if (!status.ok()) failed_ = true;
  return status;
}

Result<bool> Store::Step(Statement* statement) {
  Result<bool> row = statement->Step();
  if (!row.ok()) failed_ = true;
  return row;
}

Result<std::optional<AttemptRecord>> Store::FindAttempt(int64_t job_id, int number) {
  static const std::string sql = std::string(kAttemptColumns) + "WHERE job_id = ? AND number = ?";
  GYRE_ASSIGN_OR_RETURN(Statement * rows, Bound(sql.c_str(), job_id, number));
  GYRE_ASSIGN_OR_RETURN(const bool row, Step(rows));
  if (!row) return std::optional<AttemptRecord>();
  GYRE_ASSIGN_OR_RETURN(AttemptRecord attempt, ReadAttempt(*rows));
  return std::optional<AttemptRecord>(std::move(attempt));
}

}  // namespace gyre
