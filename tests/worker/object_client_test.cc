#include "worker/object_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include "base/hash.h"
#include "base/log.h"
#include "gyre/v1/object_service.grpc.pb.h"
#include "objects/incoming_object.h"
#include "tests/trainer/data/made_dataset.h"
#include "tests/trainer/data/temporary_home.h"
#include "tests/worker/object_server.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ObjectClientTest : public TemporaryHomeTest {
 protected:
  ObjectClientTest() : server_(home_ / "coordinator"), client_(server_.Client()) {
    SetLogLevel(LogLevel::kOff);
    content_.resize(5 * kChunkBytes + 100);
    for (size_t i = 0; i < content_.size(); ++i) content_[i] = static_cast<char>(i * i / 977);
    ref_ = {ObjectKind::kObject, Sha256Hex(content_)};
  }

  void WriteHere() { Write("here/objects/" + ref_.hash, content_); }
  void WriteThere() { server_.Write(ref_.hash, content_); }
  static void Damage(const fs::path& path, int64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file.put('!');
  }
  fs::path IncomingThere() const {
    return server_.store().root() / "tmp" / ("incoming-object-" + ref_.hash) / "objects" /
           ref_.hash;
  }

  ObjectServer server_;
  std::unique_ptr<ObjectClient> client_;
  const ObjectStore here_{home_ / "here"};
  std::string content_;
  ObjectRef ref_;
  const std::stop_token never_;
};

TEST_F(ObjectClientTest, WhatIsSentAndFetchedIsTheSame) {
  WriteHere();
  const ObjectRef dataset{ObjectKind::kDataset, MakeDataset(here_.root(), {"a text", "another"})};
  std::ofstream(here_.PathOf(dataset, "tokenizer.model")) << "pieces";
  ASSERT_TRUE(SendObject(*client_, ref_, here_, {}, never_).ok());
  ASSERT_TRUE(SendObject(*client_, dataset, here_, {}, never_).ok());
  const auto missing = client_->FindMissing({ref_, dataset}, /*verify=*/true, never_);
  ASSERT_TRUE(missing.ok()) << missing.status();
  EXPECT_TRUE(missing->empty());
  const ObjectStore other(home_ / "other");
  for (const ObjectRef& ref : {ref_, dataset}) {
    const Status status = FetchObject(*client_, ref, other, {}, never_);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(other.Verify(ref).ok());
  }
  EXPECT_TRUE(fs::exists(other.PathOf(dataset, "tokenizer.model")));
  EXPECT_EQ(
      FetchObject(*client_, {ObjectKind::kObject, std::string(64, 'a')}, other, {}, never_).code(),
      StatusCode::kNotFound);
}

TEST_F(ObjectClientTest, WhatIsBrokenOffGoesOnFromThereAndWhatIsThereIsNotSent) {
  WriteHere();
  std::stop_source stop;
  EXPECT_EQ(SendObject(
                *client_, ref_, here_,
                [&](int64_t done, int64_t) {
                  if (done < static_cast<int64_t>(3 * kChunkBytes)) return;
                  // What is sent has not all arrived; the first of it does.
                  FileOffsets arrived;
                  while (arrived[kObjectFile] < static_cast<int64_t>(kChunkBytes))
                    arrived = OffsetsOfIncoming(server_.store(), ref_);
                  stop.request_stop();
                },
                stop.get_token())
                .code(),
            StatusCode::kCancelled);
  // The stream is broken here before it is there.
  while (!IncomingObject::Open(server_.store(), ref_, *here_.FilesOf(ref_)).ok())
    std::this_thread::yield();
  const auto missing = client_->FindMissing({ref_}, false, never_);
  ASSERT_EQ(missing->size(), 1u);
  const int64_t there = missing->front().partial.at(kObjectFile);
  EXPECT_GE(there, static_cast<int64_t>(kChunkBytes));
  std::vector<int64_t> seen;
  const auto watch = [&](int64_t done, int64_t total) {
    EXPECT_EQ(total, static_cast<int64_t>(content_.size()));
    seen.push_back(done);
  };
  ASSERT_TRUE(SendObject(*client_, ref_, here_, watch, never_).ok());
  EXPECT_GT(seen.front(), there);
  EXPECT_TRUE(server_.store().Verify(ref_).ok());
  seen.clear();
  ASSERT_TRUE(SendObject(*client_, ref_, here_, watch, never_).ok());
  EXPECT_TRUE(seen.empty());
}

TEST_F(ObjectClientTest, AFetchGoesOnFromWhereItWasBrokenOff) {
  WriteThere();
  std::stop_source stop;
  EXPECT_EQ(FetchObject(
                *client_, ref_, here_,
                [&](int64_t done, int64_t) {
                  if (done >= static_cast<int64_t>(2 * kChunkBytes)) stop.request_stop();
                },
                stop.get_token())
                .code(),
            StatusCode::kCancelled);
  const int64_t here = OffsetsOfIncoming(here_, ref_).at(kObjectFile);
  int64_t first = 0;
  ASSERT_TRUE(FetchObject(
                  *client_, ref_, here_,
                  [&](int64_t done, int64_t) { first = first == 0 ? done : first; }, never_)
                  .ok());
  EXPECT_GT(first, here);
  EXPECT_TRUE(here_.Verify(ref_).ok());
}

TEST_F(ObjectClientTest, ACoordinatorThatIsRestartedInTheMiddleGetsTheRest) {
  WriteHere();
  std::jthread restart;
  ASSERT_TRUE(SendObject(
                  *client_, ref_, here_,
                  [&](int64_t done, int64_t) {
                    if (restart.joinable() || done < static_cast<int64_t>(2 * kChunkBytes)) return;
                    restart = std::jthread([&] {
                      server_.Stop();
                      server_.Start();
                    });
                  },
                  never_)
                  .ok());
  restart.join();
  EXPECT_TRUE(server_.store().Verify(ref_).ok());
}

TEST_F(ObjectClientTest, AWrongByteOnTheWayOrOnADiskIsFoundAndWhatCanBeMendedIs) {
  WriteHere();
  // What the coordinator has of it is damaged: all is sent anew.
  {
    auto incoming = IncomingObject::Open(server_.store(), ref_, *here_.FilesOf(ref_));
    ASSERT_TRUE(incoming->Append({kObjectFile, 0, content_.substr(0, kChunkBytes)}).ok());
  }
  Damage(IncomingThere(), 100);
  ASSERT_TRUE(SendObject(*client_, ref_, here_, {}, never_).ok());
  EXPECT_TRUE(server_.store().Verify(ref_).ok());
  // What is here: it is fetched anew.
  Damage(here_.PathOf(ref_), 7);
  ASSERT_TRUE(FetchObject(*client_, ref_, here_, {}, never_).ok());
  EXPECT_TRUE(here_.Verify(ref_).ok());
  // What is at the coordinator: it is thrown away there, and sent again by who has it.
  Damage(server_.store().PathOf(ref_), 7);
  const ObjectStore other(home_ / "other");
  EXPECT_EQ(FetchObject(*client_, ref_, other, {}, never_).code(), StatusCode::kNotFound);
  EXPECT_FALSE(server_.store().Has(ref_));
  ASSERT_TRUE(SendObject(*client_, ref_, here_, {}, never_).ok());
  // What is to be sent: that is said.
  Damage(here_.PathOf(ref_), 7);
  ASSERT_TRUE(server_.store().Remove(ref_).ok());
  EXPECT_EQ(SendObject(*client_, ref_, here_, {}, never_).code(), StatusCode::kDataLoss);
  EXPECT_FALSE(server_.store().Has(ref_));
}

TEST_F(ObjectClientTest, ManyWhoSendAndFetchTheSameAtOnceAllEndWell) {
  WriteHere();
  std::vector<std::jthread> threads;
  std::atomic<int> well{0};
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      if (SendObject(*client_, ref_, here_, {}, never_).ok()) ++well;
    });
  }
  threads.clear();
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      if (FetchObject(*client_, ref_, ObjectStore(home_ / "other"), {}, never_).ok()) ++well;
    });
  }
  threads.clear();
  EXPECT_EQ(well, 12);
  EXPECT_TRUE(server_.store().Verify(ref_).ok());
  EXPECT_TRUE(fs::is_empty(server_.store().root() / "tmp"));
}

class HostileTest : public ObjectClientTest {
 protected:
  grpc::Status Put(const std::vector<v1::PutRequest>& messages) {
    grpc::ClientContext context;
    context.set_deadline(gpr_time_from_seconds(20, GPR_TIMESPAN));
    v1::PutResponse response;
    const auto writer = stub_->Put(&context, &response);
    for (const v1::PutRequest& message : messages) {
      if (!writer->Write(message)) break;
    }
    writer->WritesDone();
    return writer->Finish();
  }
  static v1::PutRequest Beginning(v1::ObjectKind kind, const std::string& hash,
                                  const std::string& file, int64_t bytes) {
    v1::PutRequest message;
    message.mutable_ref()->set_kind(kind);
    message.mutable_ref()->set_hash(hash);
    v1::FileInfo* info = message.mutable_files()->add_files();
    info->set_name(file);
    info->set_bytes(bytes);
    return message;
  }
  static v1::PutRequest Piece(const std::string& file, int64_t offset, size_t bytes) {
    v1::PutRequest message;
    message.mutable_chunk()->set_file(file);
    message.mutable_chunk()->set_offset(offset);
    message.mutable_chunk()->set_data(std::string(bytes, 'x'));
    return message;
  }

  const std::unique_ptr<v1::ObjectService::Stub> stub_ = v1::ObjectService::NewStub(
      grpc::CreateChannel(server_.address(), grpc::InsecureChannelCredentials()));
};

TEST_F(HostileTest, NamesThatLeaveTheFolderAndSizesThatLieAreRefused) {
  const std::string hash(64, 'a');
  const auto kDataset = v1::OBJECT_KIND_DATASET;
  const std::vector<std::vector<v1::PutRequest>> attacks = {
      {},
      {v1::PutRequest()},
      {Beginning(kDataset, "../../etc", "a", 1)},
      {Beginning(kDataset, std::string(63, 'a') + "/", "a", 1)},
      {Beginning(v1::OBJECT_KIND_UNSPECIFIED, hash, "a", 1)},
      {Beginning(kDataset, hash, "../../../x", 1), Piece("../../../x", 0, 1)},
      {Beginning(kDataset, hash, "/etc/passwd", 1), Piece("/etc/passwd", 0, 1)},
      {Beginning(kDataset, hash, "a", 1), Piece("b", 0, 1)},
      {Beginning(kDataset, hash, "a", 1), Piece("a", 0, 2)},
      {Beginning(kDataset, hash, "a", 1 << 24), Piece("a", 0, kMaxChunkBytes + 1)},
      {Beginning(kDataset, hash, "a", -1)},
      {Beginning(v1::OBJECT_KIND_OBJECT, hash, "other", 1)},
  };
  for (size_t i = 0; i < attacks.size(); ++i)
    EXPECT_EQ(Put(attacks[i]).error_code(), grpc::StatusCode::INVALID_ARGUMENT) << i;
  // Neither hash nor content: what came is thrown away.
  EXPECT_EQ(Put({Beginning(v1::OBJECT_KIND_OBJECT, hash, kObjectFile, 3), Piece(kObjectFile, 0, 3)})
                .error_code(),
            grpc::StatusCode::DATA_LOSS);
  EXPECT_FALSE(fs::exists(home_ / "x"));
  EXPECT_TRUE(OffsetsOfIncoming(server_.store(), {ObjectKind::kObject, hash}).empty());
  grpc::ClientContext context;
  v1::GetRequest get;
  get.mutable_ref()->set_kind(kDataset);
  get.mutable_ref()->set_hash("../coordinator/objects");
  v1::GetResponse answer;
  const auto reader = stub_->Get(&context, get);
  EXPECT_FALSE(reader->Read(&answer));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(HostileTest, AFloodOfTransfersLeavesRoomForQuestions) {
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<v1::PutResponse> responses(16);
  std::vector<std::unique_ptr<grpc::ClientWriter<v1::PutRequest>>> streams;
  for (size_t i = 0; i < responses.size(); ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    streams.push_back(stub_->Put(contexts.back().get(), &responses[i]));
    const std::string hash = Sha256Hex(std::to_string(i));
    streams.back()->Write(Beginning(v1::OBJECT_KIND_DATASET, hash, "a", 10));
    streams.back()->Write(Piece("a", 0, 5));
    // It has begun once something of it is there.
    while (OffsetsOfIncoming(server_.store(), {ObjectKind::kDataset, hash}).empty())
      std::this_thread::yield();
  }
  const Status refused = client_->Get(ref_, here_, {}, never_);
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("busy"));
  EXPECT_TRUE(client_->FindMissing({ref_}, false, never_).ok());
  for (size_t i = 0; i < streams.size(); ++i) {
    contexts[i]->TryCancel();
    EXPECT_EQ(streams[i]->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  WriteThere();
  EXPECT_TRUE(FetchObject(*client_, ref_, here_, {}, never_).ok());
}

}  // namespace
}  // namespace gyre
