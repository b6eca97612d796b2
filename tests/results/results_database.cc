#include "tests/results/results_database.h"

#include <gtest/gtest.h>

#include "base/ids.h"

namespace gyre {
namespace {

constexpr char kSchema[] = R"(
CREATE TABLE sweeps (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, question TEXT, intent TEXT, baseline TEXT);
CREATE TABLE variants (id INTEGER PRIMARY KEY, sweep_id INTEGER NOT NULL, name TEXT NOT NULL, config TEXT NOT NULL,
  baseline_id INTEGER);
CREATE TABLE jobs (id INTEGER PRIMARY KEY, sweep_id INTEGER NOT NULL, variant_id INTEGER NOT NULL,
  seed INTEGER NOT NULL, key TEXT, state TEXT NOT NULL, tokens_budget INTEGER NOT NULL, tokens_done INTEGER NOT NULL,
  reused_from INTEGER, diverged_at_step INTEGER, error TEXT);
CREATE TABLE attempts (job_id INTEGER NOT NULL, number INTEGER NOT NULL, state TEXT, tokens_per_second REAL,
  PRIMARY KEY (job_id, number));
CREATE TABLE points (job_id INTEGER NOT NULL, metric TEXT NOT NULL, step INTEGER NOT NULL, tokens INTEGER NOT NULL,
  value REAL, attempt INTEGER, PRIMARY KEY (job_id, metric, step)) WITHOUT ROWID;
)";

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
  EXPECT_TRUE(database_->Execute(kSchema).ok());
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
      "INSERT INTO sweeps (name, question, intent, baseline) VALUES (?, '', 'ACTIVE', ?)"));
  insert.Bind(1, name).Bind(2, baseline);
  Run(insert);
  return database_->LastInsertId();
}

int64_t ResultsDatabase::AddVariant(int64_t sweep, const std::string& name) {
  Statement insert = Must(database_->Prepare(
      "INSERT INTO variants (sweep_id, name, config, baseline_id) VALUES (?1, ?2,"
      R"( '{"data": {"validation": {"austen": "corpus:austen/validation", "zz": "z.txt"}}}',)"
      " (SELECT v.id FROM variants v JOIN sweeps s ON v.sweep_id = s.id AND v.name = s.baseline"
      " WHERE s.id = ?1))"));
  insert.Bind(1, sweep).Bind(2, name);
  Run(insert);
  return database_->LastInsertId();
}

int64_t ResultsDatabase::AddJob(int64_t sweep, int64_t variant, const JobRow& row) {
  Statement insert =
      Must(database_->Prepare("INSERT INTO jobs (sweep_id, variant_id, seed, state, tokens_budget, "
                              "tokens_done, reused_from,"
                              " diverged_at_step) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
  const int64_t done = row.state == "SUCCEEDED" ? row.tokens_budget : 0;
  insert.Bind(1, sweep)
      .Bind(2, variant)
      .Bind(3, static_cast<int64_t>(row.seed))
      .Bind(4, row.state)
      .Bind(5, row.tokens_budget)
      .Bind(6, row.tokens_done.value_or(done))
      .Bind(7, row.reused_from)
      .Bind(8, row.diverged_at_step);
  Run(insert);
  return database_->LastInsertId();
}

void ResultsDatabase::AddPoint(int64_t job, const std::string& metric, int64_t step, int64_t tokens,
                               double value) {
  Statement insert =
      Must(database_->Prepare("INSERT INTO points (job_id, metric, step, tokens, value, attempt) "
                              "VALUES (?, ?, ?, ?, ?, 1)"));
  insert.Bind(1, job).Bind(2, metric).Bind(3, step).Bind(4, tokens).Bind(5, value);
  Run(insert);
}

void ResultsDatabase::AddAttempt(int64_t job, int number, double tokens_per_second) {
  Statement insert =
      Must(database_->Prepare("INSERT INTO attempts (job_id, number, state, tokens_per_second) "
                              "VALUES (?, ?, 'SUCCEEDED', ?)"));
  insert.Bind(1, job).Bind(2, number).Bind(3, tokens_per_second);
  Run(insert);
}

int64_t ResultsDatabase::AddFinished(int64_t sweep, int64_t variant, uint64_t seed,
                                     double perplexity, int64_t tokens) {
  const int64_t job = AddJob(sweep, variant, {.seed = seed, .tokens_budget = tokens});
  AddPoint(job, "austen/perplexity", 10, tokens, perplexity);
  return job;
}

}  // namespace gyre
