// Copies of a database that is in use, and the way back: all of it or nothing, and under another
// timeline.

#include "coordinator/store/backup.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "base/files.h"
#include "tests/coordinator/harness.h"
#include "tests/small_disk.h"

namespace gyre {
namespace {

using testing::HasSubstr;

class BackupTest : public CoordinatorTest {
 protected:
  /// A job that runs and has two points.
  void SetUp() override {
    ASSERT_TRUE(Submit(MakeSweep("s", 1, 1)).ok());
    ASSERT_TRUE(Register("w", "w1").ok());
    auto lease = Acquire("w1");
    ASSERT_TRUE(lease.ok() && lease->has_value()) << lease.status();
    lease_ = **lease;
    ASSERT_TRUE(Report(Mine(), 1, {{"m", 1, 10, 1}, {"m", 2, 20, 2}}).ok());
  }
  AttemptRef Mine() const { return Ref(lease_, "w1"); }
  /// Rows of the one column of a query of another file.
  std::string AskFile(const std::filesystem::path& path, const std::string& sql) {
    const auto database = Database::OpenReadOnly(path);
    if (!database.ok()) return database.status().ToString();
    auto rows = database->Prepare(sql);
    std::string text;
    while (rows.ok() && *rows->Step()) text += rows->Text(0) + ";";
    return text;
  }
  /// Names in the folder, but for those of the database itself.
  std::vector<std::string> Others() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (name != "results.db" && name != "results.db-wal" && name != "results.db-shm" &&
          name != "results.db.lock") {
        names.push_back(name);
      }
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  const std::filesystem::path backup_ = folder_ / "backup.db";
  LeaseReply lease_;
};

TEST_F(BackupTest, OfALiveDatabaseHasAllThatWasAcknowledged) {
  const std::string hash(64, 'a');
  ASSERT_TRUE(Save(Mine(), 2, hash).ok());
  const auto facts = BackUpDatabase(path_, backup_, false);
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->sweeps, 1);
  EXPECT_EQ(facts->jobs, 1);
  EXPECT_THAT(facts->objects, testing::ElementsAre(ObjectRef{ObjectKind::kObject, hash}));
  EXPECT_THAT(Others(), testing::ElementsAre("backup.db"));
  EXPECT_TRUE(Report(Mine(), 2, {{"m", 3, 30, 3}}).ok()) << "the coordinator goes on";
  EXPECT_EQ(AskFile(backup_, "SELECT step FROM points ORDER BY step"), "1;2;");
  EXPECT_EQ(AskFile(backup_, "PRAGMA integrity_check"), "ok;");
}

TEST_F(BackupTest, ReplacesNothingUnasked) {
  ASSERT_TRUE(WriteFileAtomically(backup_, "mine").ok());
  EXPECT_EQ(BackUpDatabase(path_, backup_, false).status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(*ReadFile(backup_), "mine");
  EXPECT_TRUE(BackUpDatabase(path_, backup_, true).ok());
  EXPECT_EQ(BackUpDatabase(path_, path_, true).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(BackUpDatabase(folder_ / "none.db", folder_ / "x.db", false).status().code(),
            StatusCode::kNotFound);
  EXPECT_THAT(Others(), testing::ElementsAre("backup.db"));
}

TEST_F(BackupTest, RestoresOnlyWhereNobodyIsAtWork) {
  ASSERT_TRUE(BackUpDatabase(path_, backup_, false).ok());
  EXPECT_EQ(RestoreDatabase(backup_, path_, true).status().code(), StatusCode::kUnavailable);
  coordinator_.reset();
  EXPECT_EQ(RestoreDatabase(backup_, path_, false).status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(RestoreDatabase(path_, path_, true).status().code(), StatusCode::kInvalidArgument);
}

// What a worker did after the backup belongs to a timeline that is no more, also where the restored
// file knows its attempt and the next attempt has the same number.
TEST_F(BackupTest, LateReportsOfTheLostTimelineAreRefused) {
  ASSERT_TRUE(BackUpDatabase(path_, backup_, false).ok());
  ASSERT_TRUE(Report(Mine(), 2, {{"m", 3, 30, 3}}).ok());
  ASSERT_TRUE(Finish(Mine(), AttemptOutcome::kStopped, 2).ok());
  const auto second = Acquire("w1");
  ASSERT_TRUE(second.ok() && second->has_value()) << second.status();
  const AttemptRef lost = Ref(**second, "w1");
  EXPECT_EQ(lost.number, 2);

  coordinator_.reset();
  const auto restored = RestoreDatabase(backup_, path_, true);
  ASSERT_TRUE(restored.ok()) << restored.status();
  Restart();
  EXPECT_EQ(Sql("SELECT step FROM points"), "1; 2");
  EXPECT_EQ(Report(Mine(), 3, {{"m", 4, 40, 4}}).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Report(lost, 1, {{"m", 9, 90, 9}}).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Finish(Mine(), AttemptOutcome::kSucceeded, 3).status().code(),
            StatusCode::kFailedPrecondition);

  Advance(Timing().first_grace);
  LoseAll();
  EXPECT_EQ(Jobs(), "1|QUEUED");
  ASSERT_TRUE(Register("w", "w2").ok());
  const auto again = Acquire("w2");
  ASSERT_TRUE(again.ok() && again->has_value()) << again.status();
  EXPECT_EQ((*again)->attempt, lost.number);
  EXPECT_EQ(Report(lost, 1, {{"m", 9, 90, 9}}).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Report(Ref(**again, "w2"), 1, {{"m", 3, 30, 5}}).ok());
  EXPECT_EQ(Sql("SELECT step, value FROM points"), "1|1.0; 2|2.0; 3|5.0");
}

TEST_F(BackupTest, TheReplacedDatabaseIsKept) {
  ASSERT_TRUE(BackUpDatabase(path_, backup_, false).ok());
  ASSERT_TRUE(Report(Mine(), 2, {{"m", 3, 30, 3}}).ok());
  coordinator_.reset();
  ASSERT_TRUE(RestoreDatabase(backup_, path_, true).ok());
  EXPECT_EQ(AskFile(path_.string() + ".replaced", "SELECT step FROM points"), "1;2;3;");
  EXPECT_FALSE(std::filesystem::exists(path_.string() + "-wal"));
  // Also when it was the wrong backup, and another takes its place.
  ASSERT_TRUE(RestoreDatabase(backup_, path_, true).ok());
  EXPECT_EQ(AskFile(path_.string() + ".replaced", "SELECT step FROM points"), "1;2;3;");
  EXPECT_EQ(AskFile(path_.string() + ".replaced-2", "SELECT step FROM points"), "1;2;");
}

// The log of a database that was deleted without it is none of the new one's.
TEST_F(BackupTest, ALogThatWasLeftIsPutAside) {
  ASSERT_TRUE(BackUpDatabase(path_, backup_, false).ok());
  coordinator_.reset();
  std::filesystem::remove(path_);
  ASSERT_TRUE(WriteFileAtomically(path_.string() + "-wal", "left").ok());
  ASSERT_TRUE(RestoreDatabase(backup_, path_, false).ok());
  EXPECT_EQ(*ReadFile(path_.string() + "-wal.replaced"), "left");
  Restart();
  EXPECT_EQ(Sql("SELECT step FROM points"), "1; 2");
}

TEST_F(BackupTest, WhatIsNoBackupChangesNothing) {
  ASSERT_TRUE(BackUpDatabase(path_, backup_, false).ok());
  coordinator_.reset();
  std::string bytes = *ReadFile(backup_);
  const std::string before = *ReadFile(path_);
  const std::filesystem::path bad = folder_ / "bad.db";
  const auto says = [&](const std::string& content) {
    EXPECT_TRUE(WriteFileAtomically(bad, content).ok());
    const Status status = RestoreDatabase(bad, path_, true).status();
    EXPECT_EQ(*ReadFile(path_), before);
    EXPECT_THAT(Others(), testing::ElementsAre("backup.db", "bad.db"));
    return status;
  };
  EXPECT_EQ(says("").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(says("no database at all").code(), StatusCode::kDataLoss);
  EXPECT_EQ(says(bytes.substr(0, bytes.size() / 2)).code(), StatusCode::kDataLoss);
  std::string torn = bytes;
  std::fill(torn.begin() + 4096 * 3, torn.begin() + 4096 * 9, '\x5a');
  EXPECT_EQ(says(torn).code(), StatusCode::kDataLoss);
}

TEST_F(BackupTest, AFullDiskLeavesNothingHalfDone) {
  const SmallDisk disk(folder_ / "small", size_t{1} << 20);
  if (!disk.mounted()) GTEST_SKIP() << "needs to be root";
  ASSERT_TRUE(BackUpDatabase(path_, backup_, false).ok());
  const std::filesystem::path there = folder_ / "small" / "results.db";
  ASSERT_TRUE(RestoreDatabase(backup_, there, false).ok());
  disk.Fill();
  EXPECT_EQ(BackUpDatabase(path_, folder_ / "small" / "b.db", false).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(RestoreDatabase(backup_, there, true).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(AskFile(there, "SELECT step FROM points"), "1;2;");
  disk.Empty();
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "small")) {
    EXPECT_THAT(entry.path().filename().string(), testing::StartsWith("results.db"));
    EXPECT_THAT(entry.path().filename().string(), testing::Not(HasSubstr("incoming")));
  }
}

TEST_F(BackupTest, ADamagedDatabaseIsNamedAtTheStart) {
  ASSERT_TRUE(BackUpDatabase(path_, backup_, false).ok());
  coordinator_.reset();
  std::string bytes = *ReadFile(backup_);
  std::fill(bytes.begin() + 4096 * 3, bytes.begin() + 4096 * 9, '\x5a');
  const std::filesystem::path torn = folder_ / "torn.db";
  ASSERT_TRUE(WriteFileAtomically(torn, bytes).ok());
  const Status status = Store::Open(torn).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr(torn.string()));
  EXPECT_THAT(status.message(), HasSubstr("gyre restore"));
  EXPECT_THAT(status.message(), HasSubstr("damaged"));
  Restart();
}

}  // namespace
}  // namespace gyre
