#include "cli/garbage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/hash.h"
#include "cli/object_transfer.h"
#include "objects/database_list.h"
#include "objects/incoming_object.h"
#include "tests/results/results_database.h"
#include "tests/trainer/data/temporary_home.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class GarbageTest : public TemporaryHomeTest {
 protected:
  GarbageTest() {
    options_.root = home_;
    EXPECT_TRUE(NoteDatabase(home_, results_.path()).ok());
    const int64_t sweep = results_.AddSweep("s");
    variant_ = results_.AddVariant(sweep, "v");
    job_ = results_.AddJob(sweep, variant_, {.state = "QUEUED"});
    Sql("UPDATE variants SET train_dataset = '" + Hash("train") +
        "', validation_datasets = '{\"held\": \"" + Hash("held") + "\"}', initial_weights = '" +
        Hash("initial") + "'");
  }
  void Sql(const std::string& sql) {
    const Status status = results_.database().Execute(sql);
    ASSERT_TRUE(status.ok()) << status;
  }
  static std::string Hash(const std::string& content) { return Sha256Hex(content); }
  std::string WriteObject(const std::string& content) {
    return Write("objects/" + Hash(content), content);
  }
  void AddCheckpoint(const std::string& content) {
    Sql("INSERT INTO checkpoints (job_id, step, weights_only, hash, tokens, bytes, attempt, "
        "created_at) VALUES (" +
        std::to_string(job_) + ", 1, 0, '" + Hash(content) + "', 1, 1, 1, '')");
  }
  /// As of a day and an hour later.
  Result<GarbageFreed> Collect() {
    removed_.clear();
    return CollectGarbage(options_, Clock::Real().WallTime() + Millis(25 * 3600 * 1000),
                          [&](const std::string& what, int64_t) { removed_.push_back(what); });
  }

  ResultsDatabase results_;
  GarbageOptions options_;
  int64_t variant_ = 0, job_ = 0;
  std::vector<std::string> removed_;
};

TEST_F(GarbageTest, WhatNoDatabaseRefersToGoesAndWhatItNeedsStays) {
  AddCheckpoint("checkpoint");
  for (const char* content : {"checkpoint", "initial", "garbage"}) WriteObject(content);
  Write("objects/not-a-hash", "whose?");
  Write("datasets/" + Hash("old") + "/meta.json", "{}");
  Write("datasets/" + Hash("held") + "/meta.json", "{}");

  options_.dry_run = true;
  auto freed = Collect();
  ASSERT_TRUE(freed.ok()) << freed.status();
  EXPECT_EQ(freed->objects, 1);
  EXPECT_EQ(freed->bytes, 7);
  EXPECT_THAT(removed_, UnorderedElementsAre("object " + Hash("garbage")));
  EXPECT_TRUE(fs::exists(home_ / "objects" / Hash("garbage")));

  options_.dry_run = false;
  ASSERT_TRUE(Collect().ok());
  EXPECT_FALSE(fs::exists(home_ / "objects" / Hash("garbage")));
  for (const std::string& kept :
       {"objects/" + Hash("checkpoint"), "objects/" + Hash("initial"),
        std::string("objects/not-a-hash"), "datasets/" + Hash("old") + "/meta.json"}) {
    EXPECT_TRUE(fs::exists(home_ / kept)) << kept;
  }
  options_.datasets = true;
  freed = Collect();
  ASSERT_TRUE(freed.ok()) << freed.status();
  EXPECT_THAT(removed_, UnorderedElementsAre("data set " + Hash("old")));
  // A job that has succeeded needs neither text nor the weights that it began with.
  Sql("UPDATE jobs SET state = 'SUCCEEDED'");
  freed = Collect();
  ASSERT_TRUE(freed.ok()) << freed.status();
  EXPECT_THAT(removed_,
              UnorderedElementsAre("data set " + Hash("held"), "object " + Hash("initial")));
}

TEST_F(GarbageTest, WhatIsYoungOrInUseStays) {
  WriteObject("fresh");
  options_.grace = Millis(26 * 3600 * 1000);  // it may be reported yet
  ASSERT_TRUE(Collect().ok());
  EXPECT_TRUE(removed_.empty());
  options_.grace = Millis(24 * 3600 * 1000);

  const ObjectStore store(home_);
  const ObjectRef ref{ObjectKind::kObject, Hash("on its way")};
  auto incoming = IncomingObject::Open(store, ref, {{kObjectFile, 10, ""}});
  ASSERT_TRUE(incoming.ok() && incoming->Append({kObjectFile, 0, "on"}).ok());
  Write("workers/w.home/objects/x", "a copy");
  auto lock = FileLock::TryAcquire(home_ / "workers/w.lock");
  ASSERT_TRUE(lock.ok());
  ASSERT_TRUE(Collect().ok());
  EXPECT_THAT(removed_, UnorderedElementsAre("object " + Hash("fresh")));

  { const auto broken_off = std::move(*incoming); }
  { const auto dead = std::move(*lock); }
  const auto freed = Collect();
  ASSERT_TRUE(freed.ok()) << freed.status();
  EXPECT_EQ(freed->partial, 2);
  EXPECT_TRUE(OffsetsOfIncoming(store, ref).empty());
  EXPECT_FALSE(fs::exists(home_ / "workers/w.home"));
}

TEST_F(GarbageTest, ADatabaseThatCannotBeAskedStopsIt) {
  WriteObject("garbage");
  const fs::path gone = home_ / "elsewhere" / "other.db";
  ASSERT_TRUE(NoteDatabase(home_, gone).ok());
  const Status status = Collect().status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("--forget " + gone.string()));
  Write("elsewhere/other.db", "this is no database, and long enough to be seen as none");
  EXPECT_EQ(Collect().status().code(), StatusCode::kDataLoss);
  EXPECT_TRUE(fs::exists(home_ / "objects" / Hash("garbage")));
  options_.forgotten = {gone};
  options_.dry_run = true;
  EXPECT_TRUE(Collect().ok());
  EXPECT_TRUE(fs::exists(home_ / "objects" / Hash("garbage")));
  options_.dry_run = false;  // which has forgotten nothing
  EXPECT_TRUE(Collect().ok());
  EXPECT_FALSE(fs::exists(home_ / "objects" / Hash("garbage")));
  EXPECT_EQ(Collect().status().code(), StatusCode::kNotFound);  // no longer noted
  options_.forgotten.clear();
  EXPECT_TRUE(Collect().ok());

  options_.root = home_ / "new";
  EXPECT_TRUE(Collect().ok());  // there is nothing that a database could refer to
  Write("new/objects/" + Hash("x"), "x");
  EXPECT_EQ(Collect().status().code(), StatusCode::kFailedPrecondition);
  options_.databases = {results_.path()};
  EXPECT_TRUE(Collect().ok());
}

TEST_F(GarbageTest, ADatabaseIsTheSameByEveryPath) {
  ASSERT_TRUE(ForgetDatabase(home_, results_.path()).ok());
  ASSERT_TRUE(NoteDatabase(home_, "not-there.db").ok());
  EXPECT_EQ(NotedDatabases(home_)->at(0), fs::current_path() / "not-there.db");
  ASSERT_TRUE(NoteDatabase(home_, fs::current_path() / "tests/../not-there.db").ok());
  EXPECT_EQ(NotedDatabases(home_)->size(), 1u);
  EXPECT_TRUE(ForgetDatabase(home_, "./not-there.db").ok());
}

TEST(TransferLineTest, ItSaysHowMuchOfWhatHasGoneAndFits) {
  EXPECT_EQ(TransferLine("sending austen", 1500000, 3000000, 0),
            "sending austen  [##########..........]   50%  1.5 MB of 3.0 MB");
  EXPECT_EQ(TransferLine("x", 0, 0, 0), "x  [####################]  100%  0 B of 0 B");
  EXPECT_LE(TransferLine(std::string(200, 'n'), 1, 2, 40).size(), 42u);
  EXPECT_EQ(BytesInWords(999), "999 B");
  EXPECT_EQ(BytesInWords(12345), "12 kB");
  EXPECT_EQ(BytesInWords(999600000), "1.0 GB");
}

}  // namespace
}  // namespace gyre
