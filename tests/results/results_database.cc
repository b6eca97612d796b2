#include "tests/results/results_database.h"

#include <gtest/gtest.h>

#include "base/ids.h"
#include "coordinator/store/schema.h"

namespace gyre {
namespace {

template <typename T>
T Must(Result<T> result) {
  EXPECT_TRUE(result.ok()) << result.status();
  return *std::move(result);
}

}  // namespace

ResultsDatabase::ResultsDatabase()
    : folder_(std::filesystem::temp_directory_path() / ("gyre-test-" + NewId())),
      path_(folder_ / "results.db") {
  std::filesystem::create_directories(folder_);
  database_ = Must(Database::OpenForWriting(path_));
  EXPECT_TRUE(database_->Execute("PRAGMA synchronous = OFF").ok());
  const Status status = MigrateSchema(*database_);
  EXPECT_TRUE(status.ok()) << status;
}

ResultsDatabase::~ResultsDatabase() {
  database_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void ResultsDatabase::Run(Statement& statement) {
  const Status status = statement.Run();
  EXPECT_TRUE(status.ok()) << status;
}

int64_t ResultsDatabase::AddSweep(const std::string& name, const std::string& baseline) {
  Statement insert = Must(database_->Prepare(
      "INSERT INTO sweeps (name, yaml, resolved, intent, baseline, resources, retry_attempts,"
      " retry_backoff_ms, timeout_ms, submitted_at)"
      " VALUES (?, '', '{}', 'ACTIVE', ?, '{}', 3, 10000, 0, '2026-01-02T03:04:05.678Z')"));
  insert.Bind(1, name).Bind(2, baseline);
  Run(insert);
  return database_->LastInsertId();
}

int64_t ResultsDatabase::AddVariant(int64_t sweep, const std::string& name,
                                    const std::string& precision) {
  Statement insert = Must(database_->Prepare(
      "INSERT INTO variants (sweep_id, name, config, train_dataset, validation_datasets,"
      " position_type, baseline_id) VALUES (?1, ?2,"
      R"( '{"data": {"validation": {"austen": "corpus:austen/validation", "zz": "z.txt"}},)"
      R"( "train": {"precision": "' || ?3 || '"}}',)"
      " '', '{}', 'rope',"
      " (SELECT v.id FROM variants v JOIN sweeps s ON v.sweep_id = s.id AND v.name = s.baseline"
      " WHERE s.id = ?1))"));
  insert.Bind(1, sweep).Bind(2, name).Bind(3, precision);
  Run(insert);
  return database_->LastInsertId();
}

int64_t ResultsDatabase::AddJob(int64_t sweep, int64_t variant, const JobRow& row) {
  Statement insert = Must(database_->Prepare(
      "INSERT INTO jobs (sweep_id, variant_id, seed, state, tokens_budget,"
      " tokens_done, reused_from, diverged_at_step, error, key, parameters,"
      " rotation, queued_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '', 1, '[]', '')"));
  const int64_t done = row.state == "SUCCEEDED" ? row.tokens_budget : 0;
  insert.Bind(1, sweep)
      .Bind(2, variant)
      .Bind(3, static_cast<int64_t>(row.seed))
      .Bind(4, row.state)
      .Bind(5, row.tokens_budget)
      .Bind(6, row.tokens_done.value_or(done))
      .Bind(7, row.reused_from)
      .Bind(8, row.diverged_at_step)
      .Bind(9, row.error);
  Run(insert);
  return database_->LastInsertId();
}

void ResultsDatabase::AddPoint(int64_t job, const std::string& metric, int64_t step, int64_t tokens,
                               double value, int attempt) {
  Statement insert =
      Must(database_->Prepare("INSERT INTO points (job_id, metric, step, tokens, value, attempt) "
                              "VALUES (?, ?, ?, ?, ?, ?)"));
  insert.Bind(1, job).Bind(2, metric).Bind(3, step).Bind(4, tokens).Bind(5, value);
  insert.Bind(6, int64_t{attempt});
  Run(insert);
}

void ResultsDatabase::AddDocuments(int64_t job, const std::string& set, int64_t step,
                                   const std::string& targets, const std::string& nats) {
  Statement insert = Must(
      database_->Prepare("INSERT INTO document_losses (job_id, validation_set, step, targets, nats)"
                         " VALUES (?, ?, ?, ?, ?)"));
  insert.Bind(1, job).Bind(2, set).Bind(3, step).Bind(4, targets).Bind(5, nats);
  Run(insert);
}

int64_t ResultsDatabase::AddWorker(const std::string& name) {
  Statement insert = Must(database_->Prepare(
      "INSERT INTO workers (name, incarnation, version, state, slots, cpus, memory_bytes,"
      " registered_at, last_seen_at) VALUES (?, ?, '0.1.0', 'ACTIVE', 2, 2, 1000000, '', '')"));
  insert.Bind(1, name).Bind(2, NewId());
  Run(insert);
  return database_->LastInsertId();
}

void ResultsDatabase::AddAttempt(int64_t job, int number, int64_t worker, const std::string& state,
                                 double tokens_per_second, const std::string& fingerprint) {
  Statement insert =
      Must(database_->Prepare("INSERT INTO attempts (job_id, number, worker_id, incarnation, state,"
                              " started_at, tokens_per_second, fingerprint)"
                              " VALUES (?, ?, ?, '', ?, '', ?, ?)"));
  insert.Bind(1, job).Bind(2, number).Bind(3, worker).Bind(4, state).Bind(5, tokens_per_second);
  insert.Bind(6, fingerprint);
  Run(insert);
}

int64_t ResultsDatabase::AddFinished(int64_t sweep, int64_t variant, uint64_t seed,
                                     double perplexity, int64_t tokens) {
  const int64_t job = AddJob(sweep, variant, {.seed = seed, .tokens_budget = tokens});
  AddPoint(job, "austen/perplexity", 10, tokens, perplexity);
  return job;
}

}  // namespace gyre
