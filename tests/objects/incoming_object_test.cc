#include "objects/incoming_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/hash.h"
#include "tests/trainer/data/made_dataset.h"
#include "tests/trainer/data/temporary_home.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class IncomingObjectTest : public TemporaryHomeTest {
 protected:
  static ObjectRef RefOf(const std::string& content) {
    return {ObjectKind::kObject, Sha256Hex(content)};
  }
  static std::vector<ObjectFile> FilesOf(const std::string& content) {
    return {{kObjectFile, static_cast<int64_t>(content.size()), ""}};
  }
  /// All of `from` that is not here yet.
  Status Copy(const ObjectStore& from, const ObjectRef& ref) {
    GYRE_ASSIGN_OR_RETURN(const auto files, from.FilesOf(ref));
    GYRE_ASSIGN_OR_RETURN(IncomingObject incoming, IncomingObject::Open(store_, ref, files));
    Status appended;
    GYRE_RETURN_IF_ERROR(
        from.ReadChunks(ref, files, incoming.offsets(), [&](const FileChunk& chunk) {
          appended = incoming.Append(chunk);
          return appended.ok();
        }));
    GYRE_RETURN_IF_ERROR(appended);
    return incoming.Finish();
  }
  bool TmpIsEmpty() const { return !fs::exists(home_ / "tmp") || fs::is_empty(home_ / "tmp"); }

  const ObjectStore store_{home_};
};

TEST_F(IncomingObjectTest, WhatHasComeStaysAndTheNextGoesOnFromThere) {
  const std::string content = "a checkpoint of some bytes";
  const ObjectRef ref = RefOf(content);
  {
    auto incoming = IncomingObject::Open(store_, ref, FilesOf(content));
    ASSERT_TRUE(incoming.ok()) << incoming.status();
    ASSERT_TRUE(incoming->Append({kObjectFile, 0, "a check"}).ok());
    EXPECT_EQ(incoming->Finish().code(), StatusCode::kFailedPrecondition);  // the stream broke
  }
  EXPECT_EQ(OffsetsOfIncoming(store_, ref), (FileOffsets{{kObjectFile, 7}}));
  EXPECT_FALSE(store_.Has(ref));
  auto incoming = IncomingObject::Open(store_, ref, FilesOf(content));
  ASSERT_TRUE(incoming.ok()) << incoming.status();
  EXPECT_EQ(incoming->offsets().at(kObjectFile), 7);
  EXPECT_EQ(incoming->Append({kObjectFile, 9, "oint"}).code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(incoming->Append({kObjectFile, 7, std::string_view(content).substr(7)}).ok());
  ASSERT_TRUE(incoming->Finish().ok());
  EXPECT_TRUE(store_.Verify(ref).ok());
  EXPECT_TRUE(TmpIsEmpty());
}

TEST_F(IncomingObjectTest, AWrongByteIsRefusedAndAllOfItThrownAway) {
  const std::string content = "a checkpoint";
  const ObjectRef ref = RefOf(content);
  auto incoming = IncomingObject::Open(store_, ref, FilesOf(content));
  ASSERT_TRUE(incoming->Append({kObjectFile, 0, "a chickpoint"}).ok());
  EXPECT_EQ(incoming->Finish().code(), StatusCode::kDataLoss);
  EXPECT_FALSE(store_.Has(ref));
  EXPECT_TRUE(OffsetsOfIncoming(store_, ref).empty());
}

TEST_F(IncomingObjectTest, OneAtATimeHasIt) {
  const ObjectRef ref = RefOf("x");
  auto first = IncomingObject::Open(store_, ref, FilesOf("x"));
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(IncomingObject::Open(store_, ref, FilesOf("x")).status().code(),
            StatusCode::kUnavailable);
  ASSERT_TRUE(first->Append({kObjectFile, 0, "x"}).ok());
  ASSERT_TRUE(first->Finish().ok());
  EXPECT_TRUE(store_.Has(ref));
}

TEST_F(IncomingObjectTest, ADatasetComesFileByFileAndWithWhateverElseItsFolderHolds) {
  const ObjectStore from(home_ / "from");
  const ObjectRef ref{ObjectKind::kDataset, MakeDataset(from.root(), {"one text", "another"})};
  std::ofstream(from.PathOf(ref, "tokenizer.model")) << "pieces";
  std::ofstream(from.PathOf(ref, "empty"));
  ASSERT_TRUE(Copy(from, ref).ok());
  EXPECT_TRUE(store_.Verify(ref).ok());
  EXPECT_TRUE(fs::exists(store_.PathOf(ref, "empty")));
  EXPECT_EQ(Sha256OfFile(store_.PathOf(ref, "tokenizer.model")).value(), Sha256Hex("pieces"));
  EXPECT_TRUE(Copy(from, ref).ok());  // again: the one that is here stays
}

TEST_F(IncomingObjectTest, ADamagedDescriptionIsRefusedThoughTheHashDoesNotCoverIt) {
  const ObjectStore from(home_ / "from");
  const ObjectRef ref{ObjectKind::kDataset, MakeDataset(from.root(), {"one text"})};
  auto files = from.FilesOf(ref);
  ASSERT_TRUE(files.ok());
  auto incoming = IncomingObject::Open(store_, ref, *files);
  ASSERT_TRUE(from.ReadChunks(ref, *files, {},
                              [&](const FileChunk& chunk) {
                                std::string data(chunk.data);
                                if (chunk.file == "meta.json") data[data.find("made")] = 'f';
                                return incoming->Append({chunk.file, chunk.offset, data}).ok();
                              })
                  .ok());
  const Status status = incoming->Finish();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("meta.json"));
}

TEST_F(IncomingObjectTest, ADamagedDatasetOfTheNameIsReplaced) {
  const ObjectStore from(home_ / "from");
  const ObjectRef ref{ObjectKind::kDataset, MakeDataset(from.root(), {"one text"})};
  Write("datasets/" + ref.hash + "/meta.json", "{");
  EXPECT_FALSE(store_.Has(ref));
  ASSERT_TRUE(Copy(from, ref).ok());
  EXPECT_TRUE(store_.Verify(ref).ok());
}

TEST_F(IncomingObjectTest, HostileNamesAndSizesAreRefused) {
  const std::string hash = Sha256Hex("");
  const ObjectRef dataset{ObjectKind::kDataset, hash};
  const auto refused = [&](const ObjectRef& ref, const std::vector<ObjectFile>& files) {
    return IncomingObject::Open(store_, ref, files).status().code() == StatusCode::kInvalidArgument;
  };
  for (const char* name : {"", ".", "..", "../x", "a/b", ".hidden", "a\nb", "\xff"}) {
    EXPECT_TRUE(refused(dataset, {{name, 1, ""}})) << name;
  }
  EXPECT_TRUE(refused(dataset, {{std::string(65, 'a'), 1, ""}}));
  EXPECT_TRUE(refused(dataset, {{"a", 1, ""}, {"a", 1, ""}}));
  EXPECT_TRUE(refused(dataset, {{"a", -1, ""}}));
  EXPECT_TRUE(refused(dataset, {{"a", int64_t{1} << 50, ""}}));
  EXPECT_TRUE(refused(dataset, {}));
  EXPECT_TRUE(refused(dataset, std::vector<ObjectFile>(kMaxObjectFiles + 1, {"a", 1, ""})));
  for (const std::string& bad : {std::string("../../etc"), std::string(63, 'a'),
                                 std::string(64, 'A'), std::string(64, '/'), std::string()}) {
    EXPECT_TRUE(refused({ObjectKind::kObject, bad}, {{kObjectFile, 1, ""}})) << bad;
    EXPECT_FALSE(store_.Has({ObjectKind::kDataset, bad}));
    EXPECT_EQ(store_.Remove({ObjectKind::kObject, bad}).code(), StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(TmpIsEmpty());
  auto incoming = IncomingObject::Open(store_, dataset, {{"a", 3, ""}});
  ASSERT_TRUE(incoming.ok());
  EXPECT_EQ(incoming->Append({"b", 0, "x"}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(incoming->Append({"a", 0, "four"}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(incoming->Append({"a", -1, "x"}).code(), StatusCode::kInvalidArgument);
}

TEST_F(IncomingObjectTest, MoreThanTheFileHasIsThrownAwayWhenItIsOpenedAgain) {
  const ObjectRef ref{ObjectKind::kDataset, Sha256Hex("")};
  {
    auto incoming = IncomingObject::Open(store_, ref, {{"a", 5, ""}, {"b", 1, ""}});
    ASSERT_TRUE(incoming->Append({"a", 0, "12345"}).ok());
    ASSERT_TRUE(incoming->Append({"b", 0, "1"}).ok());
  }
  const auto incoming = IncomingObject::Open(store_, ref, {{"a", 3, ""}});
  ASSERT_TRUE(incoming.ok());
  EXPECT_TRUE(incoming->offsets().empty());
}

}  // namespace
}  // namespace gyre
