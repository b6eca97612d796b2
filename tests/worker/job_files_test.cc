#include "worker/job_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/log.h"
#include "tests/trainer/data/made_dataset.h"
#include "tests/trainer/data/temporary_home.h"
#include "tests/worker/object_server.h"
#include "worker/coordinator_client.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class JobFilesTest : public TemporaryHomeTest {
 protected:
  JobFilesTest()
      : server_(home_ / "coordinator"), files_(home_ / "w", {}, "w/0", server_.Client()) {
    SetLogLevel(LogLevel::kOff);
    EXPECT_TRUE(files_.SetStore("elsewhere").ok());
    dataset_ = MakeDataset(server_.store().root(), {"a text"});
    checkpoint_ = Sha256Hex("checkpoint");
    server_.Write(checkpoint_, "checkpoint");
  }

  Lease LeaseOf(int64_t job_id, const std::string& checkpoint = "") const {
    TrainerJob job;
    job.train_datasets = {{dataset_}};
    job.validation_datasets["held"] = dataset_;
    return {.attempt = {job_id, 1},
            .job = ToJson(job).dump(),
            .checkpoint_hash = checkpoint,
            .checkpoint_step = 5};
  }
  ObjectStore Copies() const { return ObjectStore(home_ / "w/workers/w@0.home"); }
  bool Here(const std::string& hash) const { return Copies().Has({ObjectKind::kObject, hash}); }

  ObjectServer server_;
  JobFiles files_;
  std::string dataset_, checkpoint_;
};

TEST_F(JobFilesTest, WhatAJobReadsIsFetchedAndWhatItLeavesGoesWithIt) {
  ASSERT_TRUE(files_.sends());
  EXPECT_EQ(files_.trainer_home(), Copies().root());
  const Status fetched = files_.Fetch(LeaseOf(1, checkpoint_), {});
  ASSERT_TRUE(fetched.ok()) << fetched;
  EXPECT_TRUE(Copies().Verify({ObjectKind::kDataset, dataset_}).ok());
  EXPECT_TRUE(Here(checkpoint_));
  const std::string written = Sha256Hex("written");
  ASSERT_TRUE(WriteFileAtomically(Copies().PathOf({ObjectKind::kObject, written}), "written").ok());
  files_.Wrote(1, written);
  ASSERT_TRUE(files_.Send(written, {}).ok());
  EXPECT_TRUE(server_.store().Has({ObjectKind::kObject, written}));

  files_.Ended(1, /*may_go_on=*/true);  // it may come back here
  EXPECT_TRUE(Here(written));
  ASSERT_TRUE(files_.Fetch(LeaseOf(1, written), {}).ok());
  files_.Ended(1, /*may_go_on=*/false);
  EXPECT_FALSE(Here(written));
  EXPECT_FALSE(Here(checkpoint_));
  EXPECT_TRUE(Copies().Has({ObjectKind::kDataset, dataset_}));  // the next job may read it
  EXPECT_TRUE(server_.store().Has({ObjectKind::kObject, written}));
}

TEST_F(JobFilesTest, OnlyAFewUnfinishedJobsAreKept) {
  for (int64_t job = 1; job <= 6; ++job) {
    const std::string content = std::to_string(job), hash = Sha256Hex(content);
    server_.Write(hash, content);
    ASSERT_TRUE(files_.Fetch(LeaseOf(job, hash), {}).ok());
    files_.Ended(job, /*may_go_on=*/true);
  }
  EXPECT_FALSE(Here(Sha256Hex("1")));
  EXPECT_FALSE(Here(Sha256Hex("2")));
  EXPECT_TRUE(Here(Sha256Hex("3")));
}

TEST_F(JobFilesTest, WhatTheCoordinatorLacksIsSaidWithWhatToDo) {
  ASSERT_TRUE(server_.store().Remove({ObjectKind::kObject, checkpoint_}).ok());
  const Status checkpoint = files_.Fetch(LeaseOf(1, checkpoint_), {});
  EXPECT_EQ(checkpoint.code(), StatusCode::kDataLoss);
  EXPECT_THAT(checkpoint.message(), HasSubstr("the one before it"));
  files_.Ended(1, true);
  ASSERT_TRUE(Copies().Remove({ObjectKind::kDataset, dataset_}).ok());
  ASSERT_TRUE(server_.store().Remove({ObjectKind::kDataset, dataset_}).ok());
  const Status dataset = files_.Fetch(LeaseOf(2), {});
  EXPECT_EQ(dataset.code(), StatusCode::kNotFound);
  EXPECT_THAT(dataset.message(), HasSubstr("gyre submit"));
  EXPECT_EQ(files_.Fetch({.attempt = {3, 1}, .job = "{}"}, {}).code(),
            StatusCode::kInvalidArgument);
}

TEST_F(JobFilesTest, TextThatWasPreparedHereIsLinkedAndStaysWhenTheCopyGoes) {
  const ObjectRef ref{ObjectKind::kDataset, MakeDataset(home_ / "w", {"a text"})};
  ASSERT_EQ(ref.hash, dataset_);
  server_.Stop();
  ASSERT_TRUE(files_.Fetch(LeaseOf(1), {}).ok());
  EXPECT_TRUE(fs::is_symlink(Copies().PathOf(ref)));
  ASSERT_TRUE(Copies().Remove(ref).ok());
  EXPECT_TRUE(ObjectStore(home_ / "w").Verify(ref).ok());
}

TEST_F(JobFilesTest, ALinkToTextThatIsGoneGivesWayToACopy) {
  const ObjectRef ref{ObjectKind::kDataset, MakeDataset(home_ / "w", {"a text"})};
  ASSERT_TRUE(files_.Fetch(LeaseOf(1), {}).ok());
  ASSERT_TRUE(fs::is_symlink(Copies().PathOf(ref)));
  ASSERT_TRUE(ObjectStore(home_ / "w").Remove(ref).ok());  // as `gyre gc --datasets` does
  const Status fetched = files_.Fetch(LeaseOf(2), {});
  ASSERT_TRUE(fetched.ok()) << fetched;
  EXPECT_TRUE(Copies().Verify(ref).ok());
}

TEST_F(JobFilesTest, WhatTwoJobsHaveInCommonStaysUntilNeitherNeedsIt) {
  ASSERT_TRUE(files_.Fetch(LeaseOf(1, checkpoint_), {}).ok());
  ASSERT_TRUE(files_.Fetch(LeaseOf(2, checkpoint_), {}).ok());
  files_.Delete(1, {checkpoint_});
  EXPECT_TRUE(Here(checkpoint_));
  files_.Delete(2, {checkpoint_});
  EXPECT_FALSE(Here(checkpoint_));
}

TEST_F(JobFilesTest, ALostAttemptThatEndsLateTakesNothingFromTheNextOne) {
  ASSERT_TRUE(files_.Fetch(LeaseOf(1, checkpoint_), {}).ok());
  ASSERT_TRUE(files_.Fetch(LeaseOf(1, checkpoint_), {}).ok());  // the next attempt, here, too
  files_.Ended(1, /*may_go_on=*/false);
  EXPECT_TRUE(Here(checkpoint_));
  files_.Ended(1, /*may_go_on=*/false);
  EXPECT_FALSE(Here(checkpoint_));
}

/// Every Get answers with what `get` says.
class FakeObjectClient : public ObjectClient {
 public:
  explicit FakeObjectClient(std::function<Status(const ObjectStore&)> get) : get_(std::move(get)) {}
  Result<std::vector<MissingRef>> FindMissing(const std::vector<ObjectRef>&, bool,
                                              std::stop_token) override {
    return std::vector<MissingRef>();
  }
  Status Put(const MissingRef&, const ObjectStore&, const TransferProgress&,
             std::stop_token) override {
    return OkStatus();
  }
  Status Get(const ObjectRef&, const ObjectStore& into, const TransferProgress&,
             std::stop_token) override {
    ++gets;
    return get_(into);
  }
  int gets = 0;

 private:
  const std::function<Status(const ObjectStore&)> get_;
};

TEST_F(JobFilesTest, WhatAnotherSlotHasBroughtMeanwhileIsNotFetchedAgain) {
  const ObjectRef ref{ObjectKind::kDataset, dataset_};
  FakeObjectClient client([this](const ObjectStore& into) {
    MakeDataset(into.root(), {"a text"});
    return Unavailable("it is on its way already");
  });
  EXPECT_TRUE(FetchObject(client, ref, ObjectStore(home_ / "other"), {}, {}).ok());
  EXPECT_EQ(client.gets, 1);
}

TEST_F(JobFilesTest, AMachineThatDamagesWhatComesCostsNoCheckpoint) {
  JobFiles files(home_ / "v", {}, "v/0", std::make_unique<FakeObjectClient>([](const auto&) {
                   return DataLoss("what came has another content");
                 }));
  ASSERT_TRUE(files.SetStore("elsewhere").ok());
  MakeDataset(home_ / "v", {"a text"});
  const Status fetched = files.Fetch(LeaseOf(1, checkpoint_), {});
  EXPECT_EQ(fetched.code(), StatusCode::kInternal);  // DATA_LOSS: the coordinator drops it
  EXPECT_THAT(fetched.message(), HasSubstr("whole at the coordinator"));
}

TEST_F(JobFilesTest, AFetchIsBrokenOffAtOnceAndANewProcessBeginsWithoutOldCheckpoints) {
  server_.Stop();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(files_.Fetch(LeaseOf(1), stop.get_token()).code(), StatusCode::kCancelled);

  const std::string old = Sha256Hex("old");
  Write("w/workers/w@0.home/objects/" + old, "old");
  JobFiles again(home_ / "w", {}, "w/0", server_.Client());
  EXPECT_TRUE(Here(old));
  ASSERT_TRUE(again.SetStore("elsewhere").ok());
  EXPECT_FALSE(Here(old));
}

TEST_F(JobFilesTest, InTheCoordinatorsOwnFolderNothingIsSentOrDeleted) {
  const ObjectStore shared(home_ / "coordinator");
  const std::string store = shared.Identity(/*make=*/true).value();
  JobFiles files(home_ / "w", shared.root(), "w/1", server_.Client());
  ASSERT_TRUE(files.SetStore(store).ok());
  EXPECT_FALSE(files.sends());
  EXPECT_EQ(files.trainer_home(), shared.root());
  EXPECT_TRUE(files.Fetch(LeaseOf(1, checkpoint_), {}).ok());
  // What is missing is given up for the one before it; a folder that is not mounted is not.
  const std::string missing = Sha256Hex("missing");
  EXPECT_EQ(files.Fetch(LeaseOf(1, missing), {}).code(), StatusCode::kDataLoss);
  fs::rename(shared.root() / "store-id", home_ / "store-id");
  EXPECT_TRUE(files.Fetch(LeaseOf(1, missing), {}).ok());
  fs::rename(home_ / "store-id", shared.root() / "store-id");
  files.Delete(1, {checkpoint_});
  files.Ended(1, false);
  EXPECT_TRUE(shared.Has({ObjectKind::kObject, checkpoint_}));
  EXPECT_FALSE(fs::exists(home_ / "w/workers"));
  EXPECT_EQ(files.SetStore("another").code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace gyre
