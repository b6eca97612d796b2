#include "trainer/data/rdata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/data/made_rdata.h"
#include "trainer/data/inflate.h"

namespace gyre {
namespace {

using namespace made_rdata;
using testing::ElementsAre;

TEST(RdataTest, ReadsCharacterVectorsOfBothVersionsInOrder) {
  const std::string file = Block(Vector(3, {"EMMA", "", "CHAPTER I"})) + Block(Vector(2, {"one"}));
  const auto vectors = ReadRdataStrings(file);
  ASSERT_TRUE(vectors.ok()) << vectors.status();
  EXPECT_THAT(*vectors, ElementsAre(ElementsAre("EMMA", "", "CHAPTER I"), ElementsAre("one")));
}

TEST(RdataTest, PassesOverOtherObjectsAndStrayBytes) {
  const std::string integers = Header(2) + Int(13) + Int(1) + Int(7);
  const std::string file =
      std::string("\0\0\1\0x?", 6) + Block(integers) + Block(Vector(2, {"a"})) + "tail";
  const auto vectors = ReadRdataStrings(file);
  ASSERT_TRUE(vectors.ok()) << vectors.status();
  EXPECT_THAT(*vectors, ElementsAre(ElementsAre("a")));
}

TEST(RdataTest, MissingStringIsEmpty) {
  const std::string file =
      Block(Header(2) + Int(16) + Int(2) + Int(9) + Int(-1) + Int(9) + Int(1) + "b");
  EXPECT_THAT(*ReadRdataStrings(file), ElementsAre(ElementsAre("", "b")));
}

TEST(RdataTest, EveryWayOfCuttingAVectorIsAnError) {
  const std::string whole = Vector(3, {"EMMA", "CHAPTER I"});
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(ReadRdataStrings(Block(whole.substr(0, size))).status().code(), StatusCode::kDataLoss)
        << "cut to " << size;
  }
}

TEST(RdataTest, LyingLengthsAreErrorsAndAllocateNothing) {
  for (const int32_t count : {-5, 1 << 30}) {
    EXPECT_EQ(ReadRdataStrings(Block(Header(2) + Int(16) + Int(count) + Int(9) + Int(1) + "b"))
                  .status()
                  .code(),
              StatusCode::kDataLoss);
  }
  for (const int32_t length : {-2, 1 << 30}) {
    EXPECT_EQ(ReadRdataStrings(Block(Header(2) + Int(16) + Int(1) + Int(9) + Int(length) + "b"))
                  .status()
                  .code(),
              StatusCode::kDataLoss);
  }
}

TEST(RdataTest, FilesWithoutVectorsAreErrors) {
  EXPECT_EQ(ReadRdataStrings("").status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(ReadRdataStrings("hello").status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(ReadRdataStrings(std::string(1000, 'x')).status().code(), StatusCode::kDataLoss);
}

TEST(InflateTest, StopsAtTheEndOfTheStreamAndAtTheLimit) {
  const std::string text(100'000, 'a');
  const std::string stream = Deflate(text);
  const auto out = Inflate(stream + "rest", text.size());
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->bytes, text);
  EXPECT_EQ(out->consumed, stream.size());
  EXPECT_EQ(Inflate(stream, text.size() - 1).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(Inflate(stream.substr(0, stream.size() - 1), text.size()).status().code(),
            StatusCode::kDataLoss);
  EXPECT_EQ(Inflate("", 10).status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace gyre
