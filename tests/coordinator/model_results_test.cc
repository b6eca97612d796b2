#include "coordinator/store/model_results.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "base/files.h"
#include "coordinator/store/store.h"
#include "results/query.h"
#include "tests/coordinator/harness.h"

namespace gyre {
namespace {

using testing::HasSubstr;

ModelResults MakeResults() {
  ModelResults results;
  results.model = {.name = "m",
                   .variant = "text",
                   .path = "/models/m",
                   .weights_hash = "w",
                   .config = R"({"data": {"context": 64}})",
                   .rotation = R"([{"frequencies": [1, 0]}, {"frequencies": [0.5, 0]}])",
                   .text = "text.txt",
                   .text_hash = "t",
                   .context = 64,
                   .windows = 2,
                   .tokens = 128,
                   .loss = 1.5};
  StatisticsRecord& record = results.statistics;
  record.tokens = 128;
  record.frequency_norms = {{1, "q", 0, {3, 4}, {2, 1}}};
  record.logit_shares = {{1, 0, {1, 3}, {0.5, 1}, {0.5, 2}}};
  record.head_scores = {{1, 0, 0.1, 0.9, 0.05, 1.5, 7}};
  record.token_norms = {{1, "q", 0, {{1, 2}}}};
  record.attention_maps = {{1, 0, {{1}}}};
  results.alignments = {{1, 0, {3, 4}, {1, 2}, {std::nan(""), 0.5}}};
  return results;
}

class ModelResultsTest : public testing::Test {
 protected:
  ~ModelResultsTest() override { std::filesystem::remove_all(folder_); }

  Status Write(const ModelResults& results, bool replace = false) {
    return WriteModelResults(path_, results, Millis(0), replace);
  }
  // Rows as lines, values between bars.
  std::string Ask(const std::string& sql) {
    const auto database = Database::OpenReadOnly(path_);
    EXPECT_TRUE(database.ok()) << database.status();
    auto rows = database->Prepare(sql);
    EXPECT_TRUE(rows.ok()) << rows.status();
    std::string text;
    while (rows.ok() && *rows->Step()) {
      for (int i = 0; i < rows->columns(); ++i) text += (i == 0 ? "" : "|") + rows->Text(i);
      text += "\n";
    }
    return text;
  }

  const std::filesystem::path folder_ = FreshFolder("model-results");
  const std::filesystem::path path_ = folder_ / "results.db";
};

TEST_F(ModelResultsTest, ViewsShowAModelAsASweep) {
  ASSERT_TRUE(CheckModelPlace(path_, MakeResults().model, false).ok());
  EXPECT_FALSE(std::filesystem::exists(path_));
  const Status written = Write(MakeResults());
  ASSERT_TRUE(written.ok()) << written;
  EXPECT_EQ(Ask("SELECT sweep, variant, seed, layer, tensor, pair, angular_frequency, norm, "
                "norm_without_first, turns > 5 FROM frequencies ORDER BY pair"),
            "m|text||1|q|0|0.5|3|2|1\nm|text||1|q|1|0|4|1|0\n");
  EXPECT_EQ(Ask("SELECT layer, pair, share, first FROM contributions WHERE sweep = 'm'"),
            "1|0|0.25|0.5\n1|1|0.75|1\n");
  EXPECT_EQ(Ask("SELECT sweep, layer, head, previous, kind FROM head_census"),
            "m|1|0|0.9|positional\n");
  EXPECT_EQ(Ask("SELECT bounds, own, previous FROM alignments"), "[3, 4]|[1, 2]|[null, 0.5]\n");
  EXPECT_EQ(Ask("SELECT name, loss, windows, analysed_at FROM models"),
            "m|1.5|2|1970-01-01T00:00:00.000Z\n");
  EXPECT_EQ(Ask("PRAGMA foreign_key_check"), "");
}

TEST_F(ModelResultsTest, TheSameModelAndTextReplaceThemselves) {
  ASSERT_TRUE(Write(MakeResults()).ok());
  ModelResults again = MakeResults();
  again.model.context = 32;
  again.statistics.token_norms.clear();
  again.statistics.head_scores[0].previous = 0.2;
  ASSERT_TRUE(Write(again).ok());
  EXPECT_EQ(Ask("SELECT name, context FROM models"), "m|32\n");
  EXPECT_EQ(Ask("SELECT kind FROM head_census"), "semantic\n");
  for (const char* table : {"frequency_norms", "logit_shares", "alignments"}) {
    EXPECT_EQ(Ask(std::string("SELECT count(*) FROM ") + table), "1\n") << table;
  }
  EXPECT_EQ(Ask("SELECT count(*) FROM token_norms"), "0\n");
}

// At two contexts, say.
TEST_F(ModelResultsTest, TheSameModelAndTextByAnotherNameStandBesideTheFirst) {
  ASSERT_TRUE(Write(MakeResults()).ok());
  ModelResults again = MakeResults();
  again.model.variant = "text-32";
  again.model.context = 32;
  again.statistics.head_scores[0].previous = 0.2;
  ASSERT_TRUE(Write(again).ok());
  again.model.name = "renamed";
  ASSERT_TRUE(Write(again).ok());
  EXPECT_EQ(Ask("SELECT name, variant, context FROM models ORDER BY id"),
            "m|text|64\nm|text-32|32\nrenamed|text-32|32\n");
  EXPECT_EQ(Ask("SELECT sweep, variant, kind FROM head_census ORDER BY 1, 2"),
            "m|text|positional\nm|text-32|semantic\nrenamed|text-32|semantic\n");
}

TEST_F(ModelResultsTest, ANameThatIsTakenIsKept) {
  ASSERT_TRUE(Write(MakeResults()).ok());
  ModelResults other = MakeResults();
  other.model.text_hash = "another";
  for (const Status& status : {CheckModelPlace(path_, other.model, false), Write(other)}) {
    EXPECT_EQ(status.code(), StatusCode::kAlreadyExists);
    EXPECT_THAT(status.message(), HasSubstr("m/text, of /models/m on text.txt"));
  }
  EXPECT_EQ(Ask("SELECT text_hash FROM models"), "t\n");
  other.model.variant = "other";
  EXPECT_TRUE(Write(other).ok());
  EXPECT_EQ(Ask("SELECT variant FROM models ORDER BY id"), "text\nother\n");
  other.model.variant = "text";
  other.model.text_hash = "third";
  EXPECT_TRUE(Write(other, /*replace=*/true).ok());
  EXPECT_EQ(Ask("SELECT text_hash FROM models ORDER BY 1"), "another\nthird\n");
  const auto database = Database::OpenForWriting(path_);
  ASSERT_TRUE(database
                  ->Execute("INSERT INTO sweeps (name, yaml, resolved, intent, resources, "
                            "retry_attempts, retry_backoff_ms, timeout_ms, submitted_at) VALUES "
                            "('s', '', '', 'ACTIVE', '', 1, 1, 0, '')")
                  .ok());
  other.model.name = "s";
  EXPECT_THAT(Write(other, true).message(), HasSubstr("a sweep is called 's'"));
}

TEST_F(ModelResultsTest, ARunningCoordinatorIsNoHindrance) {
  const auto store = Store::Open(path_);
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->StartEpoch("e", "v", Millis(0)).ok());
  ASSERT_TRUE(Write(MakeResults()).ok());
  ASSERT_TRUE((*store)->Begin().ok());
  EXPECT_TRUE((*store)->Commit().ok());
  EXPECT_EQ(Ask("SELECT name FROM models"), "m\n");
  // Only the schema is its.
  const auto database = Database::OpenForWriting(path_);
  ASSERT_TRUE(database->Execute("PRAGMA user_version = 4").ok());
  const Status status = CheckModelPlace(path_, MakeResults().model, false);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("a coordinator of an older version has it"));
}

// Two analyses at once, of which one makes the file.
TEST_F(ModelResultsTest, WhileAnotherMakesTheFileItWaits) {
  std::optional<FileLock> lock(*FileLock::TryAcquire(path_.string() + ".lock"));
  Status written = Internal("not done");
  {
    const std::jthread other([&] { written = Write(MakeResults()); });
    // It has found the lock taken by then.
    while (!std::filesystem::exists(path_)) std::this_thread::yield();
    lock.reset();
  }
  EXPECT_TRUE(written.ok()) << written;
  EXPECT_EQ(Ask("SELECT name FROM models"), "m\n");
}

TEST_F(ModelResultsTest, APlaceWhereNoFileCanBeIsSaidBefore) {
  std::ofstream(folder_ / "file") << "x";
  for (const char* place : {"file/results.db", "file/a/b/results.db"}) {
    const Status status = CheckModelPlace(folder_ / place, MakeResults().model, false);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("file is no folder"));
  }
  EXPECT_TRUE(CheckModelPlace(folder_ / "a/b/results.db", MakeResults().model, false).ok());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a"));
}

// What fails in the middle leaves what was there.
TEST_F(ModelResultsTest, AllOrNothing) {
  ASSERT_TRUE(Write(MakeResults()).ok());
  ModelResults again = MakeResults();
  again.statistics.frequency_norms[0].norms = {9, 9};
  again.alignments.push_back(again.alignments[0]);  // twice
  EXPECT_FALSE(Write(again).ok());
  EXPECT_EQ(Ask("SELECT norms FROM frequency_norms"), "[3, 4]\n");
  EXPECT_EQ(Ask("SELECT count(*) FROM models"), "1\n");
}

TEST_F(ModelResultsTest, SomebodyElsesFileStays) {
  {
    const auto database = Database::OpenForWriting(path_);
    ASSERT_TRUE(database->Execute("CREATE TABLE theirs (x)").ok());
  }
  EXPECT_THAT(Write(MakeResults()).message(), HasSubstr("not one of Gyre's"));
  EXPECT_EQ(Ask("SELECT name FROM sqlite_schema"), "theirs\n");
}

}  // namespace
}  // namespace gyre
