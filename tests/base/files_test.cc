#include "base/files.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace gyre {
namespace {

class FilesTest : public testing::Test {
 protected:
  FilesTest() { std::filesystem::create_directories(folder_); }
  ~FilesTest() override { std::filesystem::remove_all(folder_); }
  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("gyre-files-" + std::to_string(getpid()));
};

TEST_F(FilesTest, WritesWholeOrNotAtAll) {
  const auto path = folder_ / "a";
  ASSERT_TRUE(WriteFileAtomically(path, "one").ok());
  ASSERT_TRUE(WriteFileAtomically(path, "two").ok());
  EXPECT_EQ(*ReadFile(path), "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}),
            1);  // nothing left over
  EXPECT_EQ(WriteFileAtomically(folder_ / "missing" / "a", "x").code(), StatusCode::kNotFound);
}

TEST_F(FilesTest, ReadsWithALimitAndNamesTheFile) {
  const auto path = folder_ / "a";
  ASSERT_TRUE(WriteFileAtomically(path, "12345").ok());
  EXPECT_EQ(ReadFile(path, 4).status().code(), StatusCode::kInvalidArgument);
  const Status missing = ReadFile(folder_ / "b").status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_NE(missing.message().find("/b"), std::string::npos);
  EXPECT_EQ(ReadFile(folder_).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(FilesTest, MapsAlsoAnEmptyFile) {
  ASSERT_TRUE(WriteFileAtomically(folder_ / "a", "bytes").ok());
  ASSERT_TRUE(WriteFileAtomically(folder_ / "empty", "").ok());
  EXPECT_EQ(MappedFile::Open(folder_ / "a")->bytes(), "bytes");
  EXPECT_EQ(MappedFile::Open(folder_ / "empty")->bytes(), "");
}

TEST_F(FilesTest, ALockHasOneHolder) {
  auto first = FileLock::TryAcquire(folder_ / "lock");
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(FileLock::TryAcquire(folder_ / "lock").status().code(), StatusCode::kUnavailable);
  { FileLock moved = *std::move(first); }
  EXPECT_TRUE(FileLock::TryAcquire(folder_ / "lock").ok());
}

TEST_F(FilesTest, AHolderMayRemoveTheFileAndTheNextOneHasANewOne) {
  auto first = FileLock::TryAcquire(folder_ / "lock");
  ASSERT_TRUE(first.ok());
  std::filesystem::remove(folder_ / "lock");
  const auto second = FileLock::TryAcquire(folder_ / "lock");
  ASSERT_TRUE(second.ok());
  { FileLock moved = *std::move(first); }  // the old one frees nothing
  EXPECT_EQ(FileLock::TryAcquire(folder_ / "lock").status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace gyre
