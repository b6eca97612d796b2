#include "base/scratch_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace gyre {
namespace {

namespace fs = std::filesystem;

class ScratchFolderTest : public testing::Test {
 protected:
  ~ScratchFolderTest() override { fs::remove_all(home_); }
  size_t Folders() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(home_ / "tmp"), {}));
  }
  const fs::path home_ =
      fs::path(testing::TempDir()) / ("gyre-scratch-" + std::to_string(getpid()));
};

TEST_F(ScratchFolderTest, GoesAwayWithTheObjectAndOthersStay) {
  auto one = ScratchFolder::Create(home_, "work");
  ASSERT_TRUE(one.ok()) << one.status();
  {
    const auto two = ScratchFolder::Create(home_, "work");
    ASSERT_TRUE(two.ok()) << two.status();
    ASSERT_TRUE(WriteFileAtomically(two->path() / "a", "text").ok());
    EXPECT_EQ(Folders(), 2u);
  }
  EXPECT_EQ(Folders(), 1u);
  const ScratchFolder moved = *std::move(one);
  EXPECT_TRUE(fs::exists(moved.path()));
}

TEST_F(ScratchFolderTest, OneWhoseProcessWasKilledIsRemovedByTheNext) {
  const pid_t child = fork();
  if (child == 0) {
    const auto folder = ScratchFolder::Create(home_, "work");
    const bool made = folder.ok() && WriteFileAtomically(folder->path() / "a", "text").ok();
    _exit(made ? 0 : 1);  // without destructors, as after a kill
  }
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  ASSERT_EQ(state, 0);
  ASSERT_EQ(Folders(), 1u);
  { const auto other = ScratchFolder::Create(home_, "other"); }
  EXPECT_EQ(Folders(), 1u) << "another kind is not its business";
  { const auto next = ScratchFolder::Create(home_, "work"); }
  EXPECT_EQ(Folders(), 0u);
}

// Somebody who looks for abandoned ones may find one between its making and its lock.
TEST_F(ScratchFolderTest, ManyAreMadeAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> made{0};
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        const auto folder = ScratchFolder::Create(home_, "work");
        if (!folder.ok()) {
          ADD_FAILURE() << folder.status();
          return;
        }
        made += WriteFileAtomically(folder->path() / "a", "text").ok();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 4 * 300);
  EXPECT_EQ(Folders(), 0u);
}

TEST_F(ScratchFolderTest, AFolderThatCannotBeMadeIsSaid) {
  fs::create_directories(home_);
  ASSERT_TRUE(WriteFileAtomically(home_ / "tmp", "a file").ok());
  EXPECT_FALSE(ScratchFolder::Create(home_, "work").ok());
}

}  // namespace
}  // namespace gyre
