#include "results/database.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "tests/small_disk.h"

namespace gyre {
namespace {

class DatabaseTest : public testing::Test {
 protected:
  DatabaseTest() { std::filesystem::create_directories(folder_); }
  ~DatabaseTest() override { std::filesystem::remove_all(folder_); }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("gyre-database-" + std::to_string(getpid()));
  const std::filesystem::path path_ = folder_ / "r.db";
};

TEST_F(DatabaseTest, ValuesComeBackAsTheyWereBound) {
  auto db = Database::OpenForWriting(path_);
  ASSERT_TRUE(db.ok()) << db.status();
  ASSERT_TRUE(db->Execute("CREATE TABLE t (i, r, x, n, o)").ok());
  auto insert = db->Prepare("INSERT INTO t VALUES (?,?,?,?,?)");
  ASSERT_TRUE(insert.ok()) << insert.status();
  insert->Bind(1, std::numeric_limits<int64_t>::min())
      .Bind(2, 0.1)
      .Bind(3, std::string_view("a\0b", 3));
  insert->Bind(4, std::nan("")).Bind(5, std::optional<std::string>());
  ASSERT_TRUE(insert->Run().ok());
  insert->Bind(1, 7).Bind(2, -std::numeric_limits<double>::infinity()).Bind(3, std::string_view());
  insert->Bind(4, nullptr).Bind(5, std::optional<int64_t>(9));
  ASSERT_TRUE(insert->Run().ok());
  EXPECT_EQ(db->LastInsertId(), 2);

  auto select = db->Prepare("SELECT * FROM t ORDER BY rowid");
  ASSERT_TRUE(select.ok());
  EXPECT_EQ(select->columns(), 5);
  EXPECT_EQ(select->ColumnName(2), "x");
  ASSERT_TRUE(*select->Step());
  EXPECT_EQ(select->Int(0), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(select->Real(1), 0.1);
  EXPECT_EQ(select->Text(2), std::string("a\0b", 3));
  EXPECT_TRUE(select->IsNull(3));
  EXPECT_TRUE(std::isnan(select->Real(3)));
  EXPECT_TRUE(select->IsNull(4));
  ASSERT_TRUE(*select->Step());
  EXPECT_TRUE(select->IsNull(1));
  EXPECT_FALSE(select->IsNull(2));
  EXPECT_EQ(select->Text(2), "");
  EXPECT_EQ(select->Int(4), 9);
  EXPECT_FALSE(*select->Step());
}

TEST_F(DatabaseTest, ReadsWhereNobodyMayWrite) {
  const SmallDisk disk(folder_ / "small", size_t{1} << 20);
  if (!disk.mounted()) GTEST_SKIP() << "needs to be root";
  const std::filesystem::path path = folder_ / "small" / "a?b#c%20d.db";
  {
    const auto db = Database::OpenForWriting(path);
    ASSERT_TRUE(db.ok()) << db.status();
    ASSERT_TRUE(db->Execute("CREATE TABLE t (i); INSERT INTO t VALUES (7)").ok());
  }
  ASSERT_TRUE(disk.MakeReadOnly());
  const auto db = Database::OpenReadOnly(path);
  ASSERT_TRUE(db.ok()) << db.status();
  auto select = db->Prepare("SELECT i FROM t");
  ASSERT_TRUE(select.ok());
  ASSERT_TRUE(*select->Step());
  EXPECT_EQ(select->Int(0), 7);
}

TEST_F(DatabaseTest, FaultsHaveTheirCodes) {
  auto db = Database::OpenForWriting(path_);
  ASSERT_TRUE(db.ok());
  ASSERT_TRUE(db->Execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v NOT NULL)").ok());
  const Status syntax = db->Prepare("SELEC 1").status();
  EXPECT_EQ(syntax.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(syntax.message().find("near \"SELEC\""), std::string::npos);
  EXPECT_EQ(db->Prepare("  -- nothing").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(db->Execute("INSERT INTO t VALUES (1, NULL)").code(), StatusCode::kFailedPrecondition);
  auto bad_bind = db->Prepare("SELECT ?");
  bad_bind->Bind(2, 1);
  EXPECT_EQ(bad_bind->Step().status().code(), StatusCode::kInternal);
  // A page limit stands in for a full disk.
  ASSERT_TRUE(db->Execute("PRAGMA max_page_count=3").ok());
  EXPECT_EQ(db->Execute("INSERT INTO t VALUES (2, zeroblob(100000))").code(),
            StatusCode::kResourceExhausted);
}

TEST_F(DatabaseTest, AFileThatIsNoDatabaseIsNamed) {
  std::ofstream(path_) << std::string(5000, 'x');
  for (const Status& status :
       {Database::OpenForWriting(path_).status(), Database::OpenReadOnly(path_).status()}) {
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << status;
    EXPECT_NE(status.message().find("r.db"), std::string::npos);
  }
  EXPECT_EQ(Database::OpenReadOnly(folder_ / "none.db").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Database::OpenForWriting(folder_ / "no" / "folder.db").status().code(),
            StatusCode::kNotFound);
}

TEST_F(DatabaseTest, AReaderSeesCommitsBesideTheWriterAndCannotWrite) {
  auto writer = Database::OpenForWriting(path_);
  ASSERT_TRUE(writer->Execute("CREATE TABLE t (k); INSERT INTO t VALUES (1)").ok());
  auto reader = Database::OpenReadOnly(path_);
  ASSERT_TRUE(reader.ok()) << reader.status();
  auto count = reader->Prepare("SELECT count(*) FROM t");
  ASSERT_TRUE(writer->Execute("BEGIN IMMEDIATE; INSERT INTO t VALUES (2)").ok());
  ASSERT_TRUE(*count->Step());
  EXPECT_EQ(count->Int(0), 1);
  count->Reset();
  ASSERT_TRUE(writer->Execute("COMMIT").ok());
  ASSERT_TRUE(*count->Step());
  EXPECT_EQ(count->Int(0), 2);
  count->Reset();
  EXPECT_EQ(reader->Execute("INSERT INTO t VALUES (3)").code(), StatusCode::kFailedPrecondition);
}

TEST_F(DatabaseTest, IsDurableByItsSettings) {
  auto db = Database::OpenForWriting(path_);
  for (const auto& [pragma, value] : {std::pair{"PRAGMA journal_mode", "wal"},
                                      {"PRAGMA synchronous", "2"},
                                      {"PRAGMA foreign_keys", "1"}}) {
    auto statement = db->Prepare(pragma);
    ASSERT_TRUE(*statement->Step());
    EXPECT_EQ(statement->Text(0), value) << pragma;
  }
}

}  // namespace
}  // namespace gyre
