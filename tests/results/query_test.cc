#include "results/query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "tests/results/results_database.h"

namespace gyre {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class QueryTest : public ::testing::Test {
 protected:
  QueryTest() {
    const int64_t sweep = db_.AddSweep("s", "RoPE");
    const int64_t variant = db_.AddVariant(sweep, "θ=500k <b>");
    for (int seed = 0; seed < 3; ++seed) db_.AddFinished(sweep, variant, seed, 5 + seed);
  }

  Status Refusal(const std::string& sql) { return RunQuery(db_.path(), sql, 0).status(); }

  ResultsDatabase db_;
};

TEST_F(QueryTest, GivesColumnsAndTypedValues) {
  const auto table = RunQuery(
      db_.path(),
      "SELECT v.name, j.seed, p.value, NULL AS none, x'00ff' AS bytes FROM jobs j JOIN points p"
      " ON p.job_id = coalesce(j.reused_from, j.id) JOIN variants v ON v.id = j.variant_id"
      " ORDER BY j.seed; -- done\n ",
      0);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->columns, ElementsAre("name", "seed", "value", "none", "bytes"));
  ASSERT_EQ(table->rows.size(), 3u);
  EXPECT_THAT(table->rows[1], ElementsAre(QueryValue("θ=500k <b>"), QueryValue(int64_t{1}),
                                          QueryValue(6.0), QueryValue(), QueryValue("X'00ff'")));
  const std::string json = QueryTableToJson(*table);
  const auto read = QueryTableFromJson(json);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->rows, table->rows);
  EXPECT_EQ(read->columns, table->columns);
}

TEST_F(QueryTest, AllowsWithExplainAndReadingPragmas) {
  EXPECT_TRUE(RunQuery(db_.path(), "WITH t AS (SELECT 1) SELECT * FROM t", 0).ok());
  EXPECT_TRUE(RunQuery(db_.path(), "EXPLAIN QUERY PLAN SELECT * FROM jobs", 0).ok());
  EXPECT_TRUE(RunQuery(db_.path(), "PRAGMA table_info(jobs)", 0).ok());
  EXPECT_TRUE(RunQuery(db_.path(), "PRAGMA user_version", 0).ok());
  EXPECT_TRUE(RunQuery(db_.path(), "SELECT name, sql FROM sqlite_master", 0).ok());
}

TEST_F(QueryTest, RefusesEverythingThatIsNotReading) {
  const std::string before = *ReadFile(db_.path());
  for (const char* sql :
       {"DELETE FROM jobs", "UPDATE sweeps SET name = 'x'",
        "INSERT INTO sweeps (name) VALUES ('y')", "DROP TABLE jobs", "CREATE TABLE t (a)",
        "CREATE TEMP TABLE t (a)", "ATTACH 'other.db' AS o", "PRAGMA journal_mode = DELETE",
        "PRAGMA user_version = 7", "PRAGMA writable_schema = 1", "PRAGMA wal_checkpoint", "VACUUM",
        "VACUUM INTO 'copy.db'", "BEGIN IMMEDIATE", "REINDEX", "SELECT load_extension('x')",
        "EXPLAIN DELETE FROM jobs"}) {
    const Status status = Refusal(sql);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << sql << ": " << status;
    EXPECT_FALSE(status.message().empty());
  }
  EXPECT_EQ(*ReadFile(db_.path()), before);
  EXPECT_FALSE(std::filesystem::exists("copy.db"));
}

TEST_F(QueryTest, OneStatementOnly) {
  EXPECT_THAT(Refusal("SELECT 1; SELECT 2").message(), HasSubstr("one statement at a time"));
  EXPECT_THAT(Refusal("SELECT 1; DROP TABLE jobs").message(), HasSubstr("one statement"));
  EXPECT_THAT(Refusal("SELECT 1; nonsense").message(), HasSubstr("one statement"));
  EXPECT_THAT(Refusal("  -- nothing\n").message(), HasSubstr("empty"));
  EXPECT_THAT(Refusal(std::string("SELECT 1\0; DROP TABLE jobs", 26)).message(), HasSubstr("NUL"));
}

TEST_F(QueryTest, ErrorsHaveSqlitesWords) {
  const Status status = Refusal("SELECT nam FROM sweeps");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "no such column: nam");
  EXPECT_THAT(Refusal("SELEC 1").message(), HasSubstr("syntax error"));
}

TEST_F(QueryTest, LimitsMemory) {
  std::string wide = "SELECT 1";
  for (int i = 0; i < 100; ++i) wide += ", randomblob(30000000)";
  const Status status = RunQuery(db_.path(), wide, 0).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("512 MiB of memory"));
}

TEST_F(QueryTest, LimitsRowsTimeAndBytes) {
  EXPECT_EQ(RunQuery(db_.path(), "SELECT * FROM jobs", 3)->rows.size(), 3u);
  Status status = RunQuery(db_.path(), "SELECT * FROM jobs", 2).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("more than 2 rows"));
  const std::string endless =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
  status = RunQuery(db_.path(), endless, 0, Millis(20)).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("took too long"));
  status = Refusal("SELECT zeroblob(1000000000)");
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  status = Refusal(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 40)"
      " SELECT zeroblob(1000000) FROM n");
  EXPECT_THAT(status.message(), HasSubstr("32 MiB"));
}

TEST_F(QueryTest, MissingAndForeignFilesAreSaid) {
  EXPECT_EQ(RunQuery(db_.path().parent_path() / "no.db", "SELECT 1", 0).status().code(),
            StatusCode::kNotFound);
  const auto text = db_.path().parent_path() / "text.db";
  ASSERT_TRUE(WriteFileAtomically(text, std::string(5000, 'x')).ok());
  EXPECT_EQ(RunQuery(text, "SELECT * FROM sweeps", 0).status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace gyre
