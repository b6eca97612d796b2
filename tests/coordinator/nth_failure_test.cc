// Whatever fails, whenever: the n-th statement, commit or operation of the disk, for n = 1, 2, 3,
// ... until none does. Nothing is half done, nothing that was acknowledged is lost, and asking
// again does it.

#include <gmock/gmock.h>
#include <sqlite3.h>

#include <regex>

#include "base/log.h"
#include "coordinator/store/backup.h"
#include "coordinator/store/schema.h"
#include "coordinator/store/schema_sql.h"
#include "tests/coordinator/failing_disk.h"
#include "tests/coordinator/harness.h"

namespace gyre {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A whole life of two jobs, each call sent again until it is taken.
class NthFailure : public CoordinatorTest {
 protected:
  std::string Story() {
    const auto insist = [&](auto call) {
      Status status = call();
      if (answers_are_lost_) {
        Restart();
        status = call();
      }
      for (int tries = 0; tries < 3 && status.code() == StatusCode::kUnavailable; ++tries)
        status = call();
      EXPECT_TRUE(status.ok()) << status;
    };
    checks_invariants_ = false;  // their statements are not the story's
    std::optional<LeaseReply> lease;
    insist([&] { return Submit(MakeSweep("s", 1, 2)).status(); });
    insist([&] { return Register("w", "w1"); });
    for (int job = 0; job < 2; ++job) {
      // The one call that is not repeated as it was: a lost lease is another attempt.
      for (int tries = 0; tries < 3 && !lease; ++tries) {
        auto acquired = Acquire("w1");
        if (acquired.ok()) lease = *acquired;
      }
      if (!lease) return "no lease";
      const AttemptRef ref = Ref(*lease, "w1");
      insist([&] { return Beat("w1", {{ref.job, ref.number, {}}}).status(); });
      StatisticsRecord statistics{.step = 1, .tokens = 10};
      statistics.frequency_norms.push_back({0, "q", 0, {1, 2}, {3, 4}});
      statistics.head_scores.push_back({0, 0, 0.5});
      insist([&] {
        return Report(ref, 1, {{"m", 1, 10, 1.5}, {"n", 1, 10, 2.5}}, "cpu", {statistics}).status();
      });
      for (int64_t step = 1; step <= 3; ++step) {
        insist([&] { return Save(ref, step, "h" + std::to_string(step)).status(); });
      }
      insist([&] { return Save(ref, 4, "weights", true).status(); });
      insist([&] { return Finish(ref, AttemptOutcome::kSucceeded, 1).status(); });
      lease.reset();
    }
    disk_was_well_ = !FailingDisk::Get().HasFailed();
    FailingDisk::Get().Heal();  // for those who look at it
    std::string all;
    for (const char* table : {"sweeps", "variants", "jobs", "attempts", "points", "frequency_norms",
                              "head_scores", "checkpoints", "workers"}) {
      all += Sql(std::string("SELECT * FROM ") + table) + "\n";
    }
    // Each start has an epoch of its own.
    return std::regex_replace(all, std::regex("[0-9a-f]{32}"), "epoch") +
           Sql("SELECT kind, job_id, attempt, details FROM events "
               "WHERE kind NOT IN ('coordinator_started', 'sweep_attached')");
  }

  void Fresh() {
    coordinator_.reset();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    Restart();
  }

  // SQLite asks after so many instructions whether it shall go on; saying no fails the statement.
  void FailAfter(int64_t instructions) {
    left_ = instructions;
    sqlite3_progress_handler(
        coordinator_->store().database().handle(), 1,
        [](void* left) { return --*static_cast<int64_t*>(left) == 0 ? 1 : 0; }, &left_);
  }
  int64_t left_ = 0;
  bool answers_are_lost_ = false;
  bool disk_was_well_ = false;  // until the story's end
};

TEST_F(NthFailure, WhicheverStatementFailsTheStoryEndsTheSame) {
  SetLogLevel(LogLevel::kOff);
  const std::string undisturbed = Story();
  int failures = 0;
  // A prime, so that over the runs every kind of statement is hit in its middle.
  for (int64_t n = 1;; n += 211) {
    Fresh();
    FailAfter(n);
    ASSERT_EQ(Story(), undisturbed) << "failing after " << n << " instructions";
    const bool is_over = std::exchange(left_, 0) > 0;  // and no failure in what follows
    ASSERT_TRUE(coordinator_->CheckInvariants().ok());
    if (is_over) break;
    ++failures;
  }
  EXPECT_GT(failures, 20);
}

TEST_F(NthFailure, WhicheverCommitFailsTheStoryEndsTheSame) {
  SetLogLevel(LogLevel::kOff);
  const std::string undisturbed = Story();
  int failures = 0;
  for (int64_t n = 1;; ++n) {
    Fresh();
    left_ = n;
    sqlite3_commit_hook(
        coordinator_->store().database().handle(),
        [](void* left) { return --*static_cast<int64_t*>(left) == 0 ? 1 : 0; }, &left_);
    ASSERT_EQ(Story(), undisturbed) << "failing commit " << n;
    const bool is_over = std::exchange(left_, 0) > 0;  // and no failure in what follows
    ASSERT_TRUE(coordinator_->CheckInvariants().ok());
    if (is_over) break;
    ++failures;
  }
  EXPECT_GT(failures, 10);
}

TEST_F(NthFailure, EveryAnswerMayBeLostInAKill) {
  const std::string undisturbed = Story();
  Fresh();
  answers_are_lost_ = true;
  EXPECT_EQ(Story(), undisturbed);
}

TEST_F(NthFailure, AFullDiskIsAStateThatHeals) {
  SetLogLevel(LogLevel::kOff);
  ASSERT_TRUE(Submit(MakeSweep("s", 1, 1)).ok());
  ASSERT_TRUE(Register("w", "w1").ok());
  const AttemptRef ref = Ref(**Acquire("w1"), "w1");
  ASSERT_TRUE(Beat("w1", {{1, 1, {}}}).ok());
  const Database& database = coordinator_->store().database();
  ASSERT_TRUE(database.Execute("PRAGMA max_page_count=1").ok());
  std::vector<PointRecord> many;
  for (int64_t step = 0; step < 1000; ++step) many.push_back({"m", step, step, 1.0});
  const Status full = Report(ref, 1, many).status();
  EXPECT_EQ(full.code(), StatusCode::kUnavailable);
  EXPECT_THAT(full.message(), HasSubstr("full"));
  EXPECT_EQ(coordinator_->health().code(), StatusCode::kResourceExhausted);
  // Leases are kept, and people are answered, meanwhile.
  for (int beat = 0; beat < 20; ++beat) {
    EXPECT_THAT(*Beat("w1", {{1, 1, {}}}), testing::ElementsAre(WorkerDesire::kContinue));
    Advance(Millis(3000));
  }
  EXPECT_EQ(Sweep("s").jobs.running, 1);
  ASSERT_TRUE(database.Execute("PRAGMA max_page_count=100000").ok());
  EXPECT_EQ(*Report(ref, 1, many), 1);
  EXPECT_TRUE(coordinator_->health().ok());
  EXPECT_EQ(Sql("SELECT count(*) FROM points"), "1000");
}

// Reads and writes, syncs, opening: once, or two in a row.
TEST_F(NthFailure, WhicheverOperationOfTheDiskFailsTheStoryEndsTheSame) {
  SetLogLevel(LogLevel::kOff);
  FailingDisk& disk = FailingDisk::Get();
  Fresh();
  const std::string undisturbed = Story();
  int failures = 0;
  for (int64_t n = 1;; n += 7) {
    Fresh();
    disk.FailAt(n, 1 + n % 2);
    const std::string story = Story();
    ASSERT_EQ(story, undisturbed) << "failing operation " << n;
    ASSERT_TRUE(coordinator_->CheckInvariants().ok());
    if (disk_was_well_) break;
    ++failures;
  }
  EXPECT_GT(failures, 20);
}

/// Files on a disk whose n-th operation fails. With a step, so that the tests are quick.
class NthOperation : public testing::Test {
 protected:
  static constexpr int64_t kStep = 5;

  ~NthOperation() override {
    disk_.Heal();
    std::filesystem::remove_all(folder_);
  }

  void MakeFresh() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  /// As a program of that version left it; 0 = an empty file that is there.
  void MakeOld(int version) {
    MakeFresh();
    auto database = Database::OpenForWriting(path_);
    ASSERT_TRUE(database.ok()) << database.status();
    if (version == 0) return;
    std::string script = std::string(kTablesSql) + kViewsSql;
    if (version > 1) script += kVersion2Sql;
    script +=
        "INSERT INTO workers (id, name, incarnation, state, slots, cpus, memory_bytes, "
        "registered_at, last_seen_at) VALUES (1, 'host/0', 'i', 'ACTIVE', 1, 1, 1, '', '');"
        "PRAGMA application_id=1736012389; PRAGMA user_version=" +
        std::to_string(version);
    const Status made = database->Execute(script);
    ASSERT_TRUE(made.ok()) << made;
  }
  /// A file with events of a coordinator.
  void MakeDatabase(const std::filesystem::path& path, int events) {
    auto store = Store::Open(path);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->Begin().ok());
    for (int i = 0; i < events; ++i) {
      ASSERT_TRUE((*store)->Append({.kind = "job_succeeded"}, kWallStart).ok());
    }
    ASSERT_TRUE((*store)->Commit().ok());
  }
  /// The column of a query, joined by ';'.
  static std::string Ask(const std::filesystem::path& path, const std::string& sql) {
    const auto database = Database::OpenReadOnly(path);
    if (!database.ok()) return database.status().ToString();
    auto rows = database->Prepare(sql);
    std::string text;
    while (rows.ok() && *rows->Step()) text += rows->Text(0) + ";";
    return text;
  }
  static std::string Events(const std::filesystem::path& path) {
    return Ask(path, "SELECT count(*) FROM events");
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      names.push_back(entry.path().filename().string());
    return names;
  }

  FailingDisk& disk_ = FailingDisk::Get();
  const std::filesystem::path folder_ = FreshFolder("nth");
  const std::filesystem::path path_ = folder_ / "results.db", backup_ = folder_ / "backup.db";
};

TEST_F(NthOperation, WhicheverFailsAMigrationIsWholeOrNotAtAll) {
  for (const int version : {0, 1}) {
    MakeOld(version);
    ASSERT_TRUE(Store::Open(path_).ok());
    const char* schema = "SELECT sql FROM sqlite_schema ORDER BY type, name";
    const std::string migrated = Ask(path_, schema);
    int failures = 0;
    for (int64_t n = 1;; n += kStep) {
      MakeOld(version);
      disk_.FailAt(n);
      const Status opened = Store::Open(path_).status();
      const bool is_over = !disk_.HasFailed();
      disk_.Heal();
      EXPECT_NE(opened.code(), StatusCode::kDataLoss) << "a passing fault is no damage: " << opened;
      const int64_t now = std::stoll(Ask(path_, "PRAGMA user_version"));
      EXPECT_TRUE(now >= version && now <= SchemaVersion()) << now;
      const Status again = Store::Open(path_).status();
      ASSERT_TRUE(again.ok()) << "after failing operation " << n << ": " << again;
      ASSERT_EQ(Ask(path_, schema), migrated) << "after failing operation " << n;
      EXPECT_EQ(Ask(path_, "SELECT name FROM workers"), version == 0 ? "" : "host/0;");
      if (is_over) break;
      ++failures;
    }
    EXPECT_GT(failures, 10);
  }
}

TEST_F(NthOperation, WhicheverFailsABackupIsWholeOrNotThere) {
  MakeDatabase(path_, 100);
  int failures = 0;
  for (int64_t n = 1;; n += kStep) {
    std::filesystem::remove(backup_);
    disk_.FailAt(n);
    const Status made = BackUpDatabase(path_, backup_, false).status();
    const bool is_over = !disk_.HasFailed();
    disk_.Heal();
    if (made.ok()) {
      EXPECT_EQ(Events(backup_), "100;");
    } else {
      EXPECT_NE(made.code(), StatusCode::kDataLoss) << "a passing fault is no damage: " << made;
      for (const std::string& name : Names()) EXPECT_EQ(name.rfind("results.db", 0), 0u) << name;
      ASSERT_TRUE(BackUpDatabase(path_, backup_, false).ok());
      EXPECT_EQ(Events(backup_), "100;");
    }
    if (is_over) break;
    ++failures;
  }
  EXPECT_GT(failures, 10);
}

TEST_F(NthOperation, WhicheverFailsARestoreIsWholeOrChangesNothing) {
  int failures = 0;
  for (int64_t n = 1;; n += kStep) {
    MakeFresh();
    MakeDatabase(path_, 3);
    ASSERT_TRUE(BackUpDatabase(path_, backup_, false).ok());
    MakeDatabase(path_, 2);
    disk_.FailAt(n);
    const Status made = RestoreDatabase(backup_, path_, true).status();
    const bool is_over = !disk_.HasFailed();
    disk_.Heal();
    EXPECT_EQ(Events(backup_), "3;");
    if (made.ok()) {
      EXPECT_EQ(Events(path_), "3;") << "after failing operation " << n;
    } else {
      EXPECT_NE(made.code(), StatusCode::kDataLoss) << "a passing fault is no damage: " << made;
      for (const std::string& name : Names()) EXPECT_THAT(name, Not(HasSubstr("incoming")));
      // What it had begun to fold may wait for somebody who may write.
      ASSERT_TRUE(Store::Open(path_).ok());
      EXPECT_EQ(Events(path_), "5;") << "after failing operation " << n;
      ASSERT_TRUE(RestoreDatabase(backup_, path_, true).ok());
      EXPECT_EQ(Events(path_), "3;");
    }
    if (is_over) break;
    ++failures;
  }
  EXPECT_GT(failures, 20);
}

}  // namespace
}  // namespace gyre
