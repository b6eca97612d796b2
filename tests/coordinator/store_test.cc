#include "coordinator/store/store.h"

#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/mount.h>

#include <fstream>

#include "coordinator/store/event_reader.h"
#include "coordinator/store/schema.h"
#include "tests/coordinator/harness.h"
#include "tests/small_disk.h"

namespace gyre {
namespace {

using testing::HasSubstr;

constexpr const char* kViews[] = {"curves",        "final",       "comparison", "frequencies",
                                  "contributions", "head_census", "documents",  "failures"};

class StoreTest : public testing::Test {
 protected:
  ~StoreTest() override { std::filesystem::remove_all(folder_); }
  const std::filesystem::path folder_ = FreshFolder("store");
  const std::filesystem::path path_ = folder_ / "results.db";
};

TEST_F(StoreTest, ADatabaseHasOneCoordinator) {
  auto store = Store::Open(path_);
  ASSERT_TRUE(store.ok()) << store.status();
  const Status second = Store::Open(path_).status();
  EXPECT_EQ(second.code(), StatusCode::kUnavailable);
  EXPECT_THAT(second.message(), HasSubstr("results.db is in use by another coordinator"));
  store->reset();
  EXPECT_TRUE(Store::Open(path_).ok());
}

TEST_F(StoreTest, OnlyItsOwnDatabasesAreOpened) {
  std::ofstream(path_) << std::string(10000, '?');
  Status status = Store::Open(path_).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("results.db"));
  EXPECT_FALSE(std::filesystem::exists(path_.string() + ".lock"));
  EXPECT_EQ(std::filesystem::file_size(path_), 10000u);

  std::filesystem::remove(path_);
  ASSERT_TRUE(Database::OpenForWriting(path_)->Execute("CREATE TABLE mine (x)").ok());
  status = Store::Open(path_).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("not one of Gyre's"));

  std::filesystem::remove(path_);
  { ASSERT_TRUE(Store::Open(path_).ok()); }
  ASSERT_TRUE(Database::OpenForWriting(path_)->Execute("PRAGMA user_version=99").ok());
  status = Store::Open(path_).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("schema version 99, this program knows up to " +
                                          std::to_string(SchemaVersion())));
}

TEST_F(StoreTest, ADamagedFileIsNamed) {
  { ASSERT_TRUE(Store::Open(path_).ok()); }
  {
    // The first page says what the file is; those behind it hold the tables.
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);
    file << std::string(std::filesystem::file_size(path_) - 4096, '\xa5');
  }
  auto store = Store::Open(path_);
  const Status status = store.ok() ? (*store)->Load().status() : store.status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss) << status;
  EXPECT_THAT(status.message(), HasSubstr("results.db"));
}

TEST_F(StoreTest, EveryTableAndColumnExplainsItself) {
  auto store = Store::Open(path_);
  ASSERT_TRUE(store.ok());
  auto tables = (*store)->database().Prepare(
      "SELECT name, sql FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE "
      "'sqlite%'");
  int count = 0;
  while (*tables->Step()) {
    ++count;
    const std::string sql = tables->Text(1);
    EXPECT_THAT(sql.substr(0, sql.find('\n')), HasSubstr("-- ")) << tables->Text(0);
  }
  EXPECT_EQ(count, 28);
  for (const char* view : kViews) {
    EXPECT_TRUE((*store)->database().Prepare(std::string("SELECT * FROM ") + view).ok()) << view;
  }
}

TEST_F(StoreTest, ASmallDiskThatWasFullIsWrittenAgainWhenThereIsRoom) {
  const SmallDisk disk(folder_ / "small", size_t{3} << 20);
  if (!disk.mounted()) GTEST_SKIP() << "needs to be root";
  auto opened = Store::Open(folder_ / "small" / "results.db");
  ASSERT_TRUE(opened.ok()) << opened.status();
  Store& store = **opened;
  EventRecord event{.kind = "checkpoint_saved"};
  event.details = "\"" + std::string(2000, 'x') + "\"";
  const auto append = [&]() -> Status {
    GYRE_RETURN_IF_ERROR(store.Begin());
    GYRE_RETURN_IF_ERROR(store.Append(event, kWallStart).status());
    return store.Commit();
  };
  int written = 0;
  while (append().ok() && written < 5000) ++written;
  store.Rollback();
  store.ShrinkLog();
  // The disk went to the database, not to its log.
  EXPECT_GT(written, 500);
  const char* more = "size=4m";
  ASSERT_EQ(mount(nullptr, (folder_ / "small").c_str(), nullptr, MS_REMOUNT, more), 0);
  EXPECT_TRUE(append().ok());
}

TEST_F(StoreTest, ViewsNeedNoMathFunctions) {
  { ASSERT_TRUE(Store::Open(path_).ok()); }
  auto plain = Database::OpenReadOnly(path_);
  // As in a client that was built without them.
  for (const char* name : {"sqrt", "pow", "power", "exp", "ln", "log"}) {
    for (const int arguments : {1, 2}) {
      sqlite3_create_function(
          plain->handle(), name, arguments, SQLITE_UTF8, nullptr,
          [](sqlite3_context* context, int, sqlite3_value**) {
            sqlite3_result_error(context, "absent", -1);
          },
          nullptr, nullptr);
    }
  }
  for (const char* view : kViews) {
    auto rows = plain->Prepare(std::string("SELECT * FROM ") + view);
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_TRUE(rows->Run().ok()) << view;
  }
}

TEST_F(StoreTest, ARolledBackTransactionLeavesNothing) {
  auto store = Store::Open(path_);
  ASSERT_TRUE((*store)->Begin().ok());
  WorkerRecord worker;
  worker.name = "w";
  ASSERT_TRUE((*store)->Insert(worker, Millis(0)).ok());
  EXPECT_FALSE((*store)->Insert(worker, Millis(0)).ok());  // the name is taken
  EXPECT_TRUE((*store)->failed());
  (*store)->Rollback();
  EXPECT_FALSE((*store)->failed());
  EXPECT_TRUE((*store)->Load()->workers.empty());
}

using EventReaderTest = CoordinatorTest;

TEST_F(EventReaderTest, EventsAreReadInOrderBesideTheWriter) {
  auto reader = EventReader::Open(path_);
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_TRUE(Submit(MakeSweep("s", 1, 1)).ok());
  ASSERT_TRUE(Register("w", "w1").ok());
  ASSERT_TRUE(Acquire("w1")->has_value());
  std::vector<std::string> kinds;
  int64_t after = 0;
  while (true) {
    auto events = reader->Read(after, coordinator_->last_event_id(), std::nullopt, 2);
    ASSERT_TRUE(events.ok());
    if (events->empty()) break;
    for (const EventRow& row : *events) kinds.push_back(row.event.kind + "/" + row.worker);
    after = events->back().event.id;
  }
  EXPECT_THAT(kinds, testing::ElementsAre("coordinator_started/", "sweep_submitted/",
                                          "worker_registered/w", "attempt_leased/w"));
  EXPECT_EQ(reader->Read(0, coordinator_->last_event_id(), 1, 10)->size(), 2u);
  EXPECT_EQ(reader->Read(0, 2, std::nullopt, 10)->size(), 2u);
}

}  // namespace
}  // namespace gyre
