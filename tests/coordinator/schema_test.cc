#include "coordinator/store/schema.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "coordinator/store/schema_sql.h"
#include "coordinator/store/schema_statistics_sql.h"
#include "coordinator/store/store.h"
#include "tests/coordinator/harness.h"

namespace gyre {
namespace {

constexpr char kGyreId[] = "PRAGMA application_id=1736012389;";

/// One sweep with a job, its twin, and statistics at two steps, in the columns of version 1.
constexpr char kRows[] = R"sql(
INSERT INTO sweeps (id, name, yaml, resolved, intent, resources, retry_attempts, retry_backoff_ms,
  timeout_ms, submitted_at) VALUES (1, 's', '', '{}', 'ACTIVE', '{}', 3, 1, 0, '');
INSERT INTO variants (id, sweep_id, name, config, train_dataset, validation_datasets,
  position_type) VALUES (1, 1, 'v', '{"data": {"context": 1024}}', '', '{}', 'rope');
INSERT INTO jobs (id, sweep_id, variant_id, seed, key, state, parameters, tokens_budget, rotation,
  queued_at, reused_from) VALUES
  (1, 1, 1, 0, '', 'SUCCEEDED', 1, 1, '[{"frequencies": [1, 0]}, {"frequencies": [1, 0.001],
    "switches": [{"at": 50, "frequencies": [1, 0.5]}, {"at": 60, "frequencies": [1, 0.25]}]}]',
    '', NULL),
  (2, 1, 1, 7, '', 'SUCCEEDED', 1, 1, '[{"frequencies": [1, 0]}]', '', 1);
INSERT INTO models VALUES (1, 'folder', 'hash', '{}');
INSERT INTO variants (id, sweep_id, name, config, train_dataset, validation_datasets,
  position_type) VALUES (2, 1, 'w', '{}', '', '{}', 'nope');
INSERT INTO jobs (id, sweep_id, variant_id, seed, key, state, parameters, tokens_budget, rotation,
  queued_at, diverged_at_step) VALUES
  (3, 1, 2, 0, '', 'SUCCEEDED', 1, 1, '[]', '', NULL), (4, 1, 2, 1, '', 'SUCCEEDED', 1, 1, '[]',
  '', NULL), (5, 1, 2, 2, '', 'SUCCEEDED', 1, 1, '[]', '', 2), (6, 1, 2, 3, '', 'RUNNING', 1, 1,
  '[]', '', NULL);
INSERT INTO points VALUES (1, 'train/loss', 3, 30, 1.5, 1), (1, 'train/loss', 2, 20, 1.75, 1),
  (3, 'train/loss', 3, 30, 2.5, 1), (3, 'm', 1, 10, 3, 1), (4, 'train/loss', 3, 30, 2.25, 1),
  (5, 'train/loss', 3, 30, NULL, 1), (6, 'train/loss', 1, 10, 9, 1);
INSERT INTO workers (id, name, incarnation, state, slots, cpus, memory_bytes, registered_at,
  last_seen_at) VALUES (1, 'host/0', 'i', 'ACTIVE', 1, 1, 1, '', '');
INSERT INTO attempts (job_id, number, worker_id, incarnation, state, started_at) VALUES
  (6, 1, 1, 'i', 'RUNNING', '');
INSERT INTO frequency_norms (job_id, model_id, step, layer, tensor, head, norms,
  norms_without_first) VALUES
  (1, NULL, 3, 0, 'q', 0, '[9, 9]', NULL),
  (1, NULL, 3, 0, 'q', 0, '[1.5, 2.5]', '[1.25, null]'),
  (NULL, 1, 0, 0, 'k', 0, '[3, 4]', NULL);
INSERT INTO logit_shares (job_id, model_id, step, layer, head, contributions, shares) VALUES
  (1, NULL, 3, 0, 0, '[3, 1]', '[0.75, 0.25]');
INSERT INTO head_scores (job_id, model_id, step, layer, head, diagonal, previous, first, entropy,
  distance) VALUES (1, NULL, 3, 0, 0, 0.5, 0.25, 0.125, 1.5, 20);
)sql";

class SchemaTest : public testing::Test {
 protected:
  ~SchemaTest() override { std::filesystem::remove_all(folder_); }

  /// A file with rows of version 1 or 2, as the program of that version left it.
  void Make(int version, const std::string& rows) {
    auto database = Database::OpenForWriting(path_);
    ASSERT_TRUE(database.ok()) << database.status();
    std::string script = std::string(kTablesSql) + kViewsSql;
    if (version > 1) script += kVersion2Sql;
    script += rows;
    if (version > 2)
      script += std::string(kStatisticsTablesSql) + kCurveViewsSql + kStatisticsViewsSql;
    script += kGyreId + ("PRAGMA user_version=" + std::to_string(version));
    const Status made = database->Execute(script);
    ASSERT_TRUE(made.ok()) << made;
  }
  void Run(const std::string& sql) {
    auto database = Database::OpenForWriting(path_);
    ASSERT_TRUE(database.ok()) << database.status();
    const Status run = database->Execute(sql);
    EXPECT_TRUE(run.ok()) << run;
  }
  /// Rows as lines, values between bars.
  std::string Ask(const std::string& sql) {
    auto database = Database::OpenReadOnly(path_);
    EXPECT_TRUE(database.ok()) << database.status();
    auto rows = database->Prepare(sql);
    EXPECT_TRUE(rows.ok()) << rows.status();
    if (!rows.ok()) return "";
    std::string text;
    while (*rows->Step()) {
      for (int i = 0; i < rows->columns(); ++i) text += (i == 0 ? "" : "|") + rows->Text(i);
      text += "\n";
    }
    return text;
  }

  const std::filesystem::path folder_ = FreshFolder("schema");
  const std::filesystem::path path_ = folder_ / "results.db";
};

TEST_F(SchemaTest, OlderFilesKeepTheirRows) {
  for (const int version : {1, 2, 3}) {
    SCOPED_TRACE(version);
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    Make(version, kRows);
    EXPECT_NE(Ask("SELECT * FROM frequencies WHERE seed = 7"), "");
    const auto views = [&] {
      return Ask("SELECT * FROM curves ORDER BY variant, seed, metric, step") +
             Ask("SELECT * FROM final ORDER BY variant, seed, metric") +
             Ask("SELECT * FROM comparison");
    };
    const std::string before = views();
    {
      const auto store = Store::Open(path_);
      ASSERT_TRUE(store.ok()) << store.status();
    }
    EXPECT_EQ(Ask("PRAGMA user_version"), std::to_string(SchemaVersion()) + "\n");
    EXPECT_EQ(Ask("PRAGMA integrity_check"), "ok\n");
    EXPECT_EQ(Ask("PRAGMA foreign_key_check"), "");
    EXPECT_EQ(views(), before);
    EXPECT_EQ(Ask("SELECT variant, metric, n, mean FROM comparison"),
              "v|train/loss|2|1.5\nw|m|1|3.0\nw|train/loss|2|2.375\n");
    // Of two alike the last stays; what older versions did not say is NULL.
    EXPECT_EQ(Ask("SELECT job_id, model_id, step, tokens, layer, tensor, head, norms, "
                  "norms_without_first, attempt FROM frequency_norms ORDER BY rowid"),
              "1||3||0|q|0|[1.5, 2.5]|[1.25, null]|\n|1|0||0|k|0|[3, 4]||\n");
    EXPECT_EQ(Ask("SELECT contributions, shares, first, others FROM logit_shares"),
              "[3, 1]|[0.75, 0.25]||\n");
    EXPECT_EQ(Ask("SELECT diagonal, previous, first, entropy, distance FROM head_scores"),
              "0.5|0.25|0.125|1.5|20.0\n");
    EXPECT_EQ(Ask("SELECT name FROM sqlite_schema WHERE name LIKE 'old%'"), "");
    // Version 4: of what was leased before, no coordinator is known, and nothing is suspected.
    EXPECT_EQ(Ask("SELECT job_id, number, state, epoch, suspected_at FROM attempts"),
              "6|1|RUNNING||\n");
    EXPECT_EQ(Ask("SELECT count(*), sum(differing_points), max(stop_reason) FROM jobs"), "6|0|\n");
  }
}

TEST_F(SchemaTest, AJobHasOneRowOfAKindAndStep) {
  Make(2, kRows);
  ASSERT_TRUE(Store::Open(path_).ok());
  for (const char* again :
       {"INSERT INTO frequency_norms (job_id, step, layer, tensor, head, norms) "
        "VALUES (1, 3, 0, 'q', 0, '[]')",
        "INSERT INTO frequency_norms (model_id, step, layer, tensor, head, norms) "
        "VALUES (1, 0, 0, 'k', 0, '[]')",
        "INSERT INTO logit_shares (job_id, step, layer, head, contributions, shares) "
        "VALUES (1, 3, 0, 0, '[]', '[]')",
        "INSERT INTO head_scores (job_id, step, layer, head) VALUES (1, 3, 0, 0)",
        "INSERT INTO head_scores (job_id, model_id, step, layer, head) VALUES (1, 1, 4, 0, 0)"}) {
    auto database = Database::OpenForWriting(path_);
    EXPECT_EQ(database->Execute(again).code(), StatusCode::kFailedPrecondition) << again;
  }
}

TEST_F(SchemaTest, FrequenciesTellTurnsAndTheNormsOfTwins) {
  Make(2, kRows);
  ASSERT_TRUE(Store::Open(path_).ok());
  // 1024 / 2 pi turns of the first pair, none of the one that is not rotated.
  EXPECT_EQ(Ask("SELECT seed, layer, pair, angular_frequency, wavelength, round(turns, 3), norm, "
                "norm_without_first FROM frequencies ORDER BY seed, pair"),
            "0|0|0|1|6.28318530717959|162.975|1.5|1.25\n"
            "0|0|1|0||0.0|2.5|\n"
            "7|0|0|1|6.28318530717959|162.975|1.5|1.25\n"
            "7|0|1|0||0.0|2.5|\n");
  EXPECT_EQ(Ask("SELECT seed, pair, contribution, share, first FROM contributions "
                "WHERE seed = 7 ORDER BY pair"),
            "7|0|3|0.75|\n7|1|1|0.25|\n");
}

// position.switch: from the step whose tokens reach it on.
TEST_F(SchemaTest, FrequenciesAreThoseInForceAtTheStep) {
  Make(2, kRows);
  ASSERT_TRUE(Store::Open(path_).ok());
  Run("DELETE FROM frequency_norms; DELETE FROM logit_shares;");
  for (const int tokens : {49, 50, 59, 60, 70}) {
    const std::string at = std::to_string(tokens);
    Run("INSERT INTO frequency_norms (job_id, step, tokens, layer, tensor, head, norms) VALUES "
        "(1, " +
        at + ", " + at + ", 1, 'q', 0, '[1, 2]');" +
        "INSERT INTO logit_shares (job_id, step, tokens, layer, head, contributions, shares) "
        "VALUES (1, " +
        at + ", " + at + ", 1, 0, '[1, 2]', '[1, 2]')");
  }
  for (const char* view : {"frequencies", "contributions"}) {
    EXPECT_EQ(Ask(std::string("SELECT tokens, angular_frequency FROM ") + view +
                  " WHERE seed = 0 AND pair = 1 ORDER BY tokens"),
              "49|0.001\n50|0.5\n59|0.5\n60|0.25\n70|0.25\n")
        << view;
  }
}

TEST_F(SchemaTest, HeadsAreCountedByTheThresholds) {
  Make(2, kRows);
  ASSERT_TRUE(Store::Open(path_).ok());
  Run("DELETE FROM head_scores;"
      "INSERT INTO head_scores (job_id, step, layer, head, diagonal, previous, first) VALUES "
      "(1, 1, 0, 0, 0.4, 0, 0), (1, 1, 0, 1, 0, 0.7, 0.2), (1, 1, 0, 2, 0.45, 0, 0.45),"
      "(1, 1, 0, 3, 0.41, 0, 0.42), (1, 1, 0, 4, 0, 0, 0.4), (1, 1, 0, 5, 0.39, 0.39, 0.39),"
      "(1, 1, 0, 6, NULL, 0.9, 0)");
  EXPECT_EQ(Ask("SELECT head, kind FROM head_census WHERE seed = 7 ORDER BY head"),
            "0|positional\n1|positional\n2|positional\n3|first-token\n4|first-token\n5|semantic\n"
            "6|\n");
}

// What docs/database.md shows works as it stands there.
TEST_F(SchemaTest, TheExamplesOfTheDocumentationRun) {
  Make(2, kRows);
  ASSERT_TRUE(Store::Open(path_).ok());
  const auto page = ReadFile("docs/database.md");
  ASSERT_TRUE(page.ok()) << page.status();
  int examples = 0;
  constexpr std::string_view kBegin = "```sql\n", kEnd = "```";
  for (size_t at = page->find(kBegin); at != std::string::npos; at = page->find(kBegin, at)) {
    at += kBegin.size();
    Ask(page->substr(at, page->find(kEnd, at) - at));
    ++examples;
  }
  EXPECT_GE(examples, 7);
}

TEST_F(SchemaTest, DocumentsAreRows) {
  Make(2, kRows);
  ASSERT_TRUE(Store::Open(path_).ok());
  Run("INSERT INTO document_losses (job_id, validation_set, step, tokens, targets, nats, attempt)"
      " VALUES (1, 'austen', 9, 90, '[3, 4, 5]', '[1.5, null, 2.5]', 1)");
  EXPECT_EQ(Ask("SELECT variant, seed, validation_set, step, tokens, document, targets, nats "
                "FROM documents WHERE seed = 7"),
            "v|7|austen|9|90|0|3|1.5\nv|7|austen|9|90|1|4|\nv|7|austen|9|90|2|5|2.5\n");
}

}  // namespace
}  // namespace gyre
