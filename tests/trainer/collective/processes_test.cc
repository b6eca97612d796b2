// Ranks as what they are in earnest: processes, of which one is killed.

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/trainer/collective/ranks_in_threads.h"
#include "tests/trainer/data/temporary_home.h"

namespace gyre {
namespace {

constexpr int kRanks = 3;

class ProcessesTest : public TemporaryHomeTest {
 protected:
  void SetUp() override {
    if (!HasGloo(home_ / "gloo")) GTEST_SKIP() << "this build has no gloo";
  }
  // A process that is this rank, with `body`'s return value as its exit code.
  pid_t Start(int rank, const std::function<int(Communicator&)>& body) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    auto rendezvous = Rendezvous::Join({rank, kRanks, home_ / "ranks", "test", kTestTimeout});
    if (!rendezvous.ok()) _exit(100);
    auto communicator = ConnectByGloo(*std::move(rendezvous));
    _exit(communicator.ok() ? body(**communicator) : 101);
  }
  static int ExitCode(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 200 + WTERMSIG(status);
  }
};

TEST_F(ProcessesTest, TheySum) {
  std::vector<pid_t> pids;
  for (int rank = 0; rank < kRanks; ++rank) {
    pids.push_back(Start(rank, [](Communicator& ranks) {
      std::vector<float> values(300'000, static_cast<float>(ranks.rank() + 1));
      if (!ranks.Sum(values.data(), 300'000, nullptr).ok()) return 1;
      return values == std::vector<float>(300'000, 6) ? 0 : 2;
    }));
  }
  for (const pid_t pid : pids) EXPECT_EQ(ExitCode(pid), 0);
}

TEST_F(ProcessesTest, OneThatIsKilledIsNamedByTheOthers) {
  std::vector<pid_t> pids;
  for (int rank = 0; rank < kRanks; ++rank) {
    pids.push_back(Start(rank, [](Communicator& ranks) {
      std::vector<float> values(300'000, 1);
      for (int step = 0;; ++step) {
        if (ranks.rank() == 1 && step == 5) kill(getpid(), SIGKILL);
        const BackendError error = ranks.Sum(values.data(), 300'000, nullptr);
        if (error.ok()) continue;
        return step == 5 && error.message == "rank 1 is gone" ? 0 : 1;
      }
    }));
  }
  EXPECT_EQ(ExitCode(pids[0]), 0);
  EXPECT_EQ(ExitCode(pids[1]), 200 + SIGKILL);
  EXPECT_EQ(ExitCode(pids[2]), 0);
}

}  // namespace
}  // namespace gyre
