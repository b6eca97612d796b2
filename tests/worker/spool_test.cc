#include "worker/spool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/files.h"
#include "base/ids.h"
#include "tests/small_disk.h"

namespace gyre {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMaxBytes = 1 << 20;
const AttemptId kAttempt{7, 2, "0123456789abcdef0123456789abcdef"};

class SpoolTest : public ::testing::Test {
 protected:
  ~SpoolTest() override { std::filesystem::remove_all(folder_); }

  static PointBatch Batch(int64_t sequence, size_t points = 1) {
    PointBatch batch{.attempt = kAttempt, .sequence = sequence, .fingerprint = "{}"};
    for (size_t i = 0; i < points; ++i) {
      batch.points.push_back({"train/loss", sequence * 10, sequence * 100, 1.0 / 3});
    }
    return batch;
  }
  std::unique_ptr<Spool> Filled(int batches) {
    auto spool = std::make_unique<Spool>(path_, kAttempt, kMaxBytes);
    for (int i = 1; i <= batches; ++i) EXPECT_TRUE(spool->Append(Batch(i)).ok());
    return spool;
  }
  std::unique_ptr<Spool> Reopen() {
    auto spool = Spool::Open(path_, kMaxBytes);
    EXPECT_TRUE(spool.ok()) << spool.status();
    return spool.ok() ? *std::move(spool) : nullptr;
  }
  static int Unread(Spool& spool) {
    int count = 0;
    for (; spool.HasUnread(); ++count) EXPECT_TRUE(spool.Next().ok());
    return count;
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("gyre-spool-" + NewId());
  const std::filesystem::path path_ = folder_ / "spools" / SpoolFileName(kAttempt);
};

TEST_F(SpoolTest, WhatIsAppendedComesBackAsItWasAlsoToTheNextProcess) {
  EXPECT_EQ(path_.filename(), "job-7-attempt-2-0123456789abcdef.spool");
  {
    Spool spool(path_, kAttempt, kMaxBytes);
    EXPECT_FALSE(spool.HasUnread());
    EXPECT_FALSE(std::filesystem::exists(path_));
    PointBatch batch = Batch(3);
    batch.points.push_back({"m", 31, 310, NAN});
    batch.points.push_back({"m", 32, 320, -INFINITY});
    batch.statistics = {{R"({"step":32})"}};
    ASSERT_TRUE(spool.Append(batch).ok());
    ASSERT_TRUE(spool.Append(CheckpointReport{kAttempt, {40, 400, "hash", 5, true}, 3}).ok());
    ASSERT_TRUE(spool
                    .Append(AttemptEnd{.attempt = kAttempt,
                                       .outcome = Outcome::kStopped,
                                       .last_sequence = 3,
                                       .error = NotFound("gone \xe9"),
                                       .step = 41,
                                       .tokens = 410,
                                       .diverged_at_step = 0,
                                       .peak_memory_bytes = 9,
                                       .tokens_per_second = 2.5,
                                       .fingerprint = "{}"})
                    .ok());
  }
  const auto spool = Reopen();
  ASSERT_NE(spool, nullptr);
  EXPECT_EQ(spool->attempt(), kAttempt);
  EXPECT_EQ(spool->summary().last_sequence, 3);
  EXPECT_EQ(spool->summary().step, 41);
  EXPECT_EQ(spool->summary().outcome, Outcome::kStopped);
  EXPECT_THAT(spool->summary().checkpoints, ::testing::ElementsAre("hash"));
  const auto batch = std::get<PointBatch>(*spool->Next());
  EXPECT_EQ(batch.attempt, kAttempt);
  EXPECT_EQ(batch.sequence, 3);
  EXPECT_EQ(batch.fingerprint, "{}");
  ASSERT_EQ(batch.points.size(), 3u);
  EXPECT_EQ(batch.points[0].value, 1.0 / 3);
  EXPECT_EQ(batch.points[0].step, 30);
  EXPECT_TRUE(std::isnan(batch.points[1].value));
  EXPECT_EQ(batch.points[2].value, -INFINITY);
  EXPECT_EQ(batch.statistics[0].json, R"({"step":32})");
  const auto saved = std::get<CheckpointReport>(*spool->Next());
  EXPECT_EQ(saved.checkpoint.hash, "hash");
  EXPECT_TRUE(saved.checkpoint.weights_only);
  EXPECT_EQ(saved.sequence, 3);
  const auto end = std::get<AttemptEnd>(*spool->Next());
  EXPECT_EQ(end.outcome, Outcome::kStopped);
  EXPECT_EQ(end.error.code(), StatusCode::kNotFound);
  EXPECT_THAT(end.error.message(), HasSubstr("gone"));
  EXPECT_EQ(end.diverged_at_step, 0);
  EXPECT_EQ(end.tokens_per_second, 2.5);
  EXPECT_FALSE(spool->HasUnread());
}

TEST_F(SpoolTest, WhatACrashLeftHalfWrittenIsCutOff) {
  Filled(3).reset();
  const auto size = std::filesystem::file_size(path_);
  for (const int cut : {1, 20, 60}) {
    std::filesystem::resize_file(path_, size - static_cast<uintmax_t>(cut));
    EXPECT_EQ(Unread(*Reopen()), 2) << cut;
    const auto spool = Reopen();
    ASSERT_TRUE(spool->Append(Batch(3)).ok());
    EXPECT_EQ(Unread(*spool), 3);
  }
}

TEST_F(SpoolTest, WhatTheDiskHasChangedIsNotTaken) {
  Filled(3).reset();
  std::string content = *ReadFile(path_);
  content[content.size() / 2] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(path_, content).ok());
  EXPECT_LT(Unread(*Reopen()), 3);
  for (const std::string& bad :
       {std::string(), std::string("rubbish"), content.substr(0, 30), std::string(1000, 'f')}) {
    ASSERT_TRUE(WriteFileAtomically(path_, bad).ok());
    EXPECT_EQ(Spool::Open(path_, kMaxBytes).status().code(), StatusCode::kDataLoss) << bad;
  }
}

TEST_F(SpoolTest, ItIsBoundedButForTheOutcome) {
  Spool spool(path_, kAttempt, 20000);
  ASSERT_TRUE(spool.Append(Batch(1, 1000)).ok());  // more than that, and yet one has to go
  const Status full = spool.Append(Batch(2));
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(full.message(), HasSubstr("job 7 attempt 2"));
  EXPECT_TRUE(spool.Append(AttemptEnd{.attempt = kAttempt, .last_sequence = 1}).ok());
  EXPECT_EQ(Unread(spool), 2);
  ASSERT_TRUE(spool.Clear().ok());
  EXPECT_FALSE(std::filesystem::exists(path_));
  ASSERT_TRUE(spool.Append(Batch(2)).ok());
  EXPECT_EQ(Unread(spool), 1);
  EXPECT_EQ(Unread(*Reopen()), 1);
}

TEST_F(SpoolTest, AFullDiskKeepsNothingHalf) {
  std::filesystem::create_directories(folder_);
  const SmallDisk disk(folder_ / "small", size_t{128} << 10);
  if (!disk.mounted()) GTEST_SKIP() << "needs to be root";
  const std::filesystem::path path = folder_ / "small" / "spools" / "x.spool";
  Spool spool(path, kAttempt, kMaxBytes);
  int kept = 0;
  Status status;
  for (; (status = spool.Append(Batch(kept + 1, 200))).ok(); ++kept) ASSERT_LT(kept, 100);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_GT(kept, 2);
  EXPECT_EQ(Unread(spool), kept);
  auto reopened = Spool::Open(path, kMaxBytes);
  ASSERT_TRUE(reopened.ok());
  EXPECT_EQ(Unread(**reopened), kept);
}

}  // namespace
}  // namespace gyre
