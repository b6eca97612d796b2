#include "objects/object_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "tests/trainer/data/made_dataset.h"
#include "tests/trainer/data/temporary_home.h"

namespace gyre {
namespace {

class ObjectStoreTest : public TemporaryHomeTest {
 protected:
  ObjectRef WriteObject(const std::string& content) {
    const std::string hash = Sha256Hex(content);
    Write("objects/" + hash, content);
    return {ObjectKind::kObject, hash};
  }
  const ObjectStore store_{home_};
};

TEST_F(ObjectStoreTest, ChunksBeginWhereTheOtherSideHasItAndCoverTheRest) {
  std::string content(2 * kChunkBytes + 17, 'x');
  for (size_t i = 0; i < content.size(); i += 1000) content[i] = static_cast<char>('a' + i % 23);
  const ObjectRef ref = WriteObject(content);
  const auto files = store_.FilesOf(ref);
  ASSERT_TRUE(files.ok()) << files.status();
  for (const int64_t begin : {int64_t{0}, int64_t{1}, static_cast<int64_t>(kChunkBytes),
                              static_cast<int64_t>(content.size()) - 1}) {
    std::string got;
    ASSERT_TRUE(store_
                    .ReadChunks(ref, *files, {{kObjectFile, begin}},
                                [&](const FileChunk& chunk) {
                                  EXPECT_EQ(chunk.offset, begin + static_cast<int64_t>(got.size()));
                                  EXPECT_LE(chunk.data.size(), kChunkBytes);
                                  got += chunk.data;
                                  return true;
                                })
                    .ok());
    EXPECT_TRUE(got == content.substr(static_cast<size_t>(begin))) << begin;
  }
  int chunks = 0;
  ASSERT_TRUE(store_
                  .ReadChunks(ref, *files, {{kObjectFile, int64_t{1} << 40}},
                              [&](const FileChunk&) { return ++chunks < 2; })
                  .ok());
  EXPECT_EQ(chunks, 2);  // an offset that cannot be is none; the sink ends it
}

TEST_F(ObjectStoreTest, DamageIsFoundByReading) {
  const ObjectRef object = WriteObject("content");
  EXPECT_TRUE(store_.Verify(object).ok());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(store_.Verify(object, stop.get_token()).code(), StatusCode::kCancelled);
  Write("objects/" + object.hash, "contend");
  EXPECT_TRUE(store_.Has(object));
  EXPECT_EQ(store_.Verify(object).code(), StatusCode::kDataLoss);
  const ObjectRef dataset{ObjectKind::kDataset, MakeDataset(home_, {"text"})};
  EXPECT_EQ(store_.Verify(dataset, stop.get_token()).code(), StatusCode::kCancelled);
  EXPECT_TRUE(store_.Verify(dataset).ok());
  Write("datasets/" + dataset.hash + "/tokens.bin", std::string(10, '\0'));
  EXPECT_EQ(store_.Verify(dataset).code(), StatusCode::kDataLoss);
  EXPECT_TRUE(store_.Remove(dataset).ok());
  EXPECT_EQ(store_.Verify(dataset).code(), StatusCode::kNotFound);
  EXPECT_TRUE(store_.Remove(dataset).ok());
}

TEST_F(ObjectStoreTest, AFolderHasOneIdentityForAllWhoSeeIt) {
  EXPECT_EQ(store_.Identity(/*make=*/false).value(), "");
  const std::string id = store_.Identity(/*make=*/true).value();
  EXPECT_FALSE(id.empty());
  EXPECT_EQ(ObjectStore(home_).Identity(/*make=*/true).value(), id);
  EXPECT_EQ(store_.Identity(/*make=*/false).value(), id);
  EXPECT_NE(ObjectStore(home_ / "other").Identity(/*make=*/true).value(), id);
}

}  // namespace
}  // namespace gyre
