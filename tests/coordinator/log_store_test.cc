#include "coordinator/log_store.h"

#include <gmock/gmock.h>

#include <numeric>

#include "tests/coordinator/harness.h"

namespace gyre {
namespace {

class LogStoreTest : public testing::Test {
 protected:
  ~LogStoreTest() override { std::filesystem::remove_all(folder_); }

  /// All that can be read, holes as "[N]".
  std::string ReadAll(int64_t job, int attempt) {
    std::string text;
    for (int64_t offset = 0;;) {
      const auto part = logs_.Read(job, attempt, offset);
      EXPECT_TRUE(part.ok()) << part.status();
      if (!part.ok() || part->data.empty()) return text;
      if (part->offset > offset) text += "[" + std::to_string(part->offset - offset) + "]";
      text += part->data;
      offset = part->offset + static_cast<int64_t>(part->data.size());
    }
  }

  const std::filesystem::path folder_ = FreshFolder("logs");
  LogStore logs_{folder_ / "database"};
};

TEST_F(LogStoreTest, WhatIsSentAgainIsTakenOnce) {
  EXPECT_EQ(*logs_.Append(1, 1, 0, "hello "), 6);
  EXPECT_EQ(*logs_.Append(1, 1, 0, "hello "), 6);
  EXPECT_EQ(*logs_.Append(1, 1, 4, "o world"), 11);
  EXPECT_EQ(*logs_.Append(1, 1, 2, "x"), 11);
  EXPECT_EQ(ReadAll(1, 1), "hello world");
  EXPECT_EQ(ReadAll(1, 2), "");
  EXPECT_EQ(ReadAll(2, 1), "");
}

TEST_F(LogStoreTest, AHoleIsSaid) {
  ASSERT_TRUE(logs_.Append(1, 1, 0, "one").ok());
  ASSERT_TRUE(logs_.Append(1, 1, 10, "two").ok());
  ASSERT_TRUE(logs_.Append(1, 1, 13, "three").ok());
  EXPECT_EQ(ReadAll(1, 1), "one[7]twothree");
}

TEST_F(LogStoreTest, OfALongLogTheBeginningAndTheEndStay) {
  int64_t offset = 0;
  for (int i = 0; i < 60; ++i) {
    const std::string line = std::to_string(i) + std::string(99'999, '.') + "\n";
    const auto end = logs_.Append(1, 1, offset, line);
    ASSERT_TRUE(end.ok()) << end.status();
    offset += static_cast<int64_t>(line.size());
    ASSERT_EQ(*end, offset);
  }
  int64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
    if (entry.is_regular_file()) bytes += static_cast<int64_t>(entry.file_size());
  }
  EXPECT_LE(bytes, 5 * LogStore::kSegmentBytes);
  const std::string text = ReadAll(1, 1);
  EXPECT_EQ(text.substr(0, 2), "0.");
  EXPECT_THAT(text, testing::HasSubstr("59."));
  EXPECT_EQ(text.back(), '\n');
  EXPECT_THAT(text, testing::HasSubstr("["));
}

TEST_F(LogStoreTest, TheLastLines) {
  EXPECT_EQ(logs_.ReadLast(1, 1, 5)->data, "");
  ASSERT_TRUE(logs_.Append(1, 1, 0, "a\nb\nc\nd").ok());
  EXPECT_EQ(logs_.ReadLast(1, 1, 2)->data, "c\nd");
  EXPECT_EQ(logs_.ReadLast(1, 1, 2)->offset, 4);
  EXPECT_EQ(logs_.ReadLast(1, 1, 99)->data, "a\nb\nc\nd");
  ASSERT_TRUE(logs_.Append(1, 1, 7, "\n").ok());
  EXPECT_EQ(logs_.ReadLast(1, 1, 2)->data, "c\nd\n");
  // Over the border of two segments.
  const std::string filling(static_cast<size_t>(LogStore::kSegmentBytes) - 8 - 3, 'x');
  ASSERT_TRUE(logs_.Append(1, 1, 8, filling + "\nyz\nend\n").ok());
  EXPECT_EQ(logs_.ReadLast(1, 1, 2)->data, "yz\nend\n");
}

}  // namespace
}  // namespace gyre
