// Attempts, points and checkpoints as rows; the fence stands here.

#include <cmath>

#include "coordinator/store/store.h"

namespace gyre {
namespace {

// As the file holds them: whatever is not finite is NULL.
bool SameValue(double a, double b) { return std::isfinite(a) ? a == b : !std::isfinite(b); }

}  // namespace

Status Store::Insert(const AttemptRecord& attempt) {
  return Run(
      "INSERT INTO attempts (job_id, number, worker_id, incarnation, device, state, started_at, "
      "resumed_from_step, epoch) VALUES (?,?,?,?,?,?,?,?,?)",
      attempt.job_id, attempt.number, attempt.worker_id, attempt.incarnation, attempt.device,
      Name(attempt.state), FormatUtc(attempt.started_at), attempt.resumed_from_step, attempt.epoch);
}

Status Store::Update(const AttemptRecord& attempt, std::optional<Millis> ended_at) {
  std::optional<std::string> ended;
  if (ended_at) ended = FormatUtc(*ended_at);
  GYRE_RETURN_IF_ERROR(
      Run("UPDATE attempts SET state = ?, last_sequence = ?, ended_at = ?, error = ?, "
          "error_code = ?, peak_memory_bytes = ?, tokens_per_second = ?, fingerprint = ?, "
          "suspected_at = ? "
          "WHERE job_id = ? AND number = ? AND worker_id = ? AND incarnation = ? AND epoch = ? "
          "AND state IN ('LEASED', 'RUNNING') "
          "AND number = (SELECT attempt FROM jobs WHERE id = job_id)",
          Name(attempt.state), attempt.last_sequence, ended, attempt.error, attempt.error_code,
          attempt.peak_memory_bytes, attempt.tokens_per_second, attempt.fingerprint,
          attempt.suspected_at, attempt.job_id, attempt.number, attempt.worker_id,
          attempt.incarnation, attempt.epoch));
  return CheckOneChanged(attempt);
}

Status Store::CheckOneChanged(const AttemptRecord& attempt) {
  if (database_.Changes() == 1) return OkStatus();
  return Noted(FailedPrecondition("attempt " + std::to_string(attempt.number) + " of job " +
                                  std::to_string(attempt.job_id) + " is not the current one"));
}

Status Store::SetIncarnation(const AttemptRecord& attempt, const std::string& incarnation) {
  GYRE_RETURN_IF_ERROR(
      Run("UPDATE attempts SET incarnation = ? WHERE job_id = ? AND number = ? AND worker_id = ? "
          "AND incarnation = ? AND epoch = ? AND state IN ('LEASED', 'RUNNING') "
          "AND number = (SELECT attempt FROM jobs WHERE id = job_id)",
          incarnation, attempt.job_id, attempt.number, attempt.worker_id, attempt.incarnation,
          attempt.epoch));
  return CheckOneChanged(attempt);
}

Result<LeaseDetails> Store::DetailsOf(int64_t job_id) {
  GYRE_ASSIGN_OR_RETURN(
      Statement * rows,
      Bound("SELECT s.name, v.name, v.config, j.key, v.train_dataset, v.validation_datasets, "
            "v.initial_weights FROM jobs j JOIN sweeps s ON s.id = j.sweep_id JOIN variants v ON "
            "v.id = j.variant_id "
            "WHERE j.id = ?",
            job_id));
  GYRE_ASSIGN_OR_RETURN(const bool row, Step(rows));
  if (!row) return NotFound("there is no job " + std::to_string(job_id));
  return LeaseDetails{rows->Text(0), rows->Text(1), rows->Text(2), rows->Text(3),
                      rows->Text(4), rows->Text(5), rows->Text(6)};
}

Result<JobHistory> Store::HistoryOf(int64_t job_id) {
  JobHistory history;
  GYRE_ASSIGN_OR_RETURN(Statement * job, Bound("SELECT queued_at FROM jobs WHERE id = ?", job_id));
  GYRE_ASSIGN_OR_RETURN(const bool found, Step(job));
  if (!found) return NotFound("there is no job " + std::to_string(job_id));
  history.queued_at = job->Text(0);
  GYRE_ASSIGN_OR_RETURN(
      Statement * rows,
      Bound("SELECT a.number, a.incarnation, a.device, a.state, a.resumed_from_step, a.error, "
            "a.error_code, a.peak_memory_bytes, a.tokens_per_second, w.name, a.started_at, "
            "coalesce(a.ended_at, ''), a.suspected_at FROM attempts a JOIN workers w ON w.id = "
            "a.worker_id "
            "WHERE a.job_id = ? ORDER BY a.number",
            job_id));
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, Step(rows));
    if (!row) return history;
    PastAttempt& past = history.attempts.emplace_back();
    AttemptRecord& attempt = past.record;
    attempt.job_id = job_id;
    attempt.number = static_cast<int>(rows->Int(0));
    attempt.incarnation = rows->Text(1);
    attempt.device = rows->Text(2);
    GYRE_ASSIGN_OR_RETURN(attempt.state, ParseAttemptState(rows->Text(3)));
    if (!rows->IsNull(4)) attempt.resumed_from_step = rows->Int(4);
    attempt.error = rows->Text(5);
    attempt.error_code = rows->Text(6);
    if (!rows->IsNull(7)) attempt.peak_memory_bytes = rows->Int(7);
    if (!rows->IsNull(8)) attempt.tokens_per_second = rows->Real(8);
    past.worker = rows->Text(9);
    past.started_at = rows->Text(10);
    past.ended_at = rows->Text(11);
    if (!rows->IsNull(12)) attempt.suspected_at = rows->Text(12);
  }
}

Result<std::string> Store::FirstEventOf(const JobRecord& job, const char* kind) {
  GYRE_ASSIGN_OR_RETURN(Statement * rows,
                        Bound("SELECT details FROM events WHERE sweep_id = ? AND job_id = ? AND "
                              "kind = ? ORDER BY id LIMIT 1",
                              job.sweep_id, job.id, kind));
  GYRE_ASSIGN_OR_RETURN(const bool row, Step(rows));
  std::string details = row ? rows->Text(0) : "";
  rows->Reset();
  return details;
}

Result<std::string> Store::DatabaseId() {
  GYRE_ASSIGN_OR_RETURN(Statement * rows, Bound("SELECT id FROM database"));
  GYRE_ASSIGN_OR_RETURN(const bool row, Step(rows));
  if (!row) return DataLoss("the database " + path_.string() + " has lost its id");
  std::string id = rows->Text(0);
  rows->Reset();
  return id;
}

Result<std::vector<Nondeterminism>> Store::Put(const AttemptRecord& attempt,
                                               const std::vector<PointRecord>& points) {
  std::vector<Nondeterminism> found;
  for (const PointRecord& point : points) {
    // A first attempt has nothing to disagree with.
    if (attempt.number > 1) {
      GYRE_ASSIGN_OR_RETURN(
          Statement * rows,
          Bound("SELECT p.tokens, p.value, p.attempt FROM points p JOIN attempts a "
                "ON a.job_id = p.job_id AND a.number = p.attempt "
                "WHERE p.job_id = ? AND p.metric = ? AND p.step = ? AND a.fingerprint = ? "
                "AND a.fingerprint <> ''",
                attempt.job_id, point.metric, point.step, attempt.fingerprint));
      GYRE_ASSIGN_OR_RETURN(const bool row, Step(rows));
      if (row && !SameValue(rows->Real(1), point.value)) {
        const PointRecord before{point.metric, point.step, rows->Int(0), rows->Real(1)};
        found.push_back({before, point, static_cast<int>(rows->Int(2))});
      }
    }
    GYRE_RETURN_IF_ERROR(
        Run("INSERT INTO points (job_id, metric, step, tokens, value, attempt) "
            "VALUES (?,?,?,?,?,?) ON CONFLICT (job_id, metric, step) DO UPDATE SET "
            "tokens = excluded.tokens, value = excluded.value, attempt = excluded.attempt "
            "WHERE excluded.attempt >= points.attempt",
            attempt.job_id, point.metric, point.step, point.tokens, point.value, attempt.number));
  }
  return found;
}

Result<std::vector<std::string>> Store::Put(const CheckpointRecord& checkpoint, Millis wall) {
  std::vector<std::string> dropped;
  GYRE_ASSIGN_OR_RETURN(
      Statement * rows,
      Bound("SELECT hash FROM checkpoints WHERE job_id = ? AND step = ? AND weights_only = ?",
            checkpoint.job_id, checkpoint.step, checkpoint.weights_only));
  GYRE_ASSIGN_OR_RETURN(const bool replaces, Step(rows));
  if (replaces) dropped.push_back(rows->Text(0));
  GYRE_RETURN_IF_ERROR(
      Run("INSERT OR REPLACE INTO checkpoints (job_id, step, weights_only, hash, tokens, bytes, "
          "attempt, created_at) VALUES (?,?,?,?,?,?,?,?)",
          checkpoint.job_id, checkpoint.step, checkpoint.weights_only, checkpoint.hash,
          checkpoint.tokens, checkpoint.bytes, checkpoint.attempt, FormatUtc(wall)));
  // Older than the two newest = two or more full ones come after it.
  GYRE_RETURN_IF_ERROR(DropCheckpoints(
      "SELECT step, hash FROM checkpoints c WHERE job_id = ?1 AND weights_only = 0 AND (SELECT "
      "count(*) FROM checkpoints newer WHERE newer.job_id = ?1 AND newer.weights_only = 0 AND "
      "newer.step > c.step) >= 2",
      checkpoint.job_id, &dropped));
  return UnreferencedOf(dropped);
}

Result<std::optional<CheckpointRecord>> Store::LatestCheckpoint(int64_t job_id) {
  GYRE_ASSIGN_OR_RETURN(Statement * rows,
                        Bound("SELECT step, hash, tokens, bytes, attempt FROM checkpoints "
                              "WHERE job_id = ? AND weights_only = 0 ORDER BY step DESC LIMIT 1",
                              job_id));
  GYRE_ASSIGN_OR_RETURN(const bool row, Step(rows));
  if (!row) return std::optional<CheckpointRecord>();
  CheckpointRecord checkpoint;
  checkpoint.job_id = job_id;
  checkpoint.step = rows->Int(0);
  checkpoint.hash = rows->Text(1);
  checkpoint.tokens = rows->Int(2);
  checkpoint.bytes = rows->Int(3);
  checkpoint.attempt = static_cast<int>(rows->Int(4));
  return std::optional<CheckpointRecord>(std::move(checkpoint));
}

Result<bool> Store::Has(const CheckpointRecord& checkpoint) {
  GYRE_ASSIGN_OR_RETURN(
      Statement * rows,
      Bound("SELECT 1 FROM checkpoints WHERE job_id = ? AND step = ? AND weights_only = ? "
            "AND hash = ? AND attempt = ?",
            checkpoint.job_id, checkpoint.step, checkpoint.weights_only, checkpoint.hash,
            checkpoint.attempt));
  return Step(rows);
}

Result<std::vector<std::string>> Store::KeepOnlyWeights(int64_t job_id) {
  std::vector<std::string> dropped;
  GYRE_RETURN_IF_ERROR(DropCheckpoints(
      "SELECT step, hash FROM checkpoints WHERE job_id = ?1 AND weights_only = 0 AND EXISTS "
      "(SELECT 1 FROM checkpoints w WHERE w.job_id = ?1 AND w.weights_only = 1)",
      job_id, &dropped));
  return UnreferencedOf(dropped);
}

Result<std::vector<std::string>> Store::ForgetCheckpoint(int64_t job_id, int64_t step) {
  GYRE_ASSIGN_OR_RETURN(
      Statement * rows,
      Bound("SELECT hash FROM checkpoints WHERE job_id = ? AND step = ? AND weights_only = 0",
            job_id, step));
  GYRE_ASSIGN_OR_RETURN(const bool row, Step(rows));
  if (!row) return std::vector<std::string>();
  const std::vector<std::string> dropped = {rows->Text(0)};
  GYRE_RETURN_IF_ERROR(DropCheckpoint(job_id, step));
  return UnreferencedOf(dropped);
}

Status Store::DropCheckpoint(int64_t job_id, int64_t step) {
  return Run("DELETE FROM checkpoints WHERE job_id = ? AND step = ? AND weights_only = 0", job_id,
             step);
}

Status Store::DropCheckpoints(const char* select, int64_t job_id,
                              std::vector<std::string>* dropped) {
  GYRE_ASSIGN_OR_RETURN(Statement * rows, Bound(select, job_id));
  std::vector<int64_t> steps;
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, Step(rows));
    if (!row) break;
    steps.push_back(rows->Int(0));
    dropped->push_back(rows->Text(1));
  }
  for (const int64_t step : steps) GYRE_RETURN_IF_ERROR(DropCheckpoint(job_id, step));
  return OkStatus();
}

Result<std::vector<std::string>> Store::UnreferencedOf(const std::vector<std::string>& hashes) {
  std::vector<std::string> unreferenced;
  for (const std::string& hash : hashes) {
    GYRE_ASSIGN_OR_RETURN(const bool needed, NeedsObject(hash));
    if (!needed) unreferenced.push_back(hash);
  }
  return unreferenced;
}

Result<bool> Store::NeedsObject(const std::string& hash) {
  GYRE_ASSIGN_OR_RETURN(Statement * rows,
                        Bound("SELECT 1 FROM checkpoints WHERE hash = ?1 UNION ALL "
                              "SELECT 1 FROM variants v JOIN jobs j ON j.variant_id = v.id "
                              "WHERE v.initial_weights = ?1 AND j.state <> 'SUCCEEDED' LIMIT 1",
                              hash));
  return Step(rows);
}

}  // namespace gyre
