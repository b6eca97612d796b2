// SIGKILL of the worker ends its trainers, each way by itself: end of file on their stdin, and the
// signal that follows the thread that spawned them. The worker here is a process of its own, this
// program run again.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/files.h"
#include "base/ids.h"
#include "base/log.h"
#include "tests/worker/fake_coordinator.h"
#include "worker/agent.h"
#include "worker/process_tree.h"

extern char** environ;

namespace gyre {
namespace {

// The worker: two trainers that wait; says their pids on stdout, then waits to be killed.
int BeWorker(const std::filesystem::path& home) {
  SetLogLevel(LogLevel::kOff);
  FakeCoordinator coordinator;
  coordinator.Offer(1, R"(["child", "point", "wait"])");
  coordinator.Offer(2, R"(["stubborn", "point", "deaf"])");
  auto worker =
      Worker::Start({.slots = 2, .home = home, .trainer = GYRE_FAKE_TRAINER}, coordinator.Client());
  if (!worker.ok() || !coordinator.AwaitPoint(1) || !coordinator.AwaitPoint(2)) return 1;
  for (const char* job : {"1", "2"}) {
    const std::string log =
        *ReadFile(home / "logs" / ("job-" + std::string(job) + "-attempt-1.log"));
    const std::string pid = log.substr(log.find("pid ") + 4);
    if (write(STDOUT_FILENO, pid.data(), pid.size()) < 0) return 1;
  }
  while (true) pause();
}

// Waits until the process ends, up to 20 s; it need not be a child.
bool Ends(int pid) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return errno == ESRCH;
  pollfd ended{fd, POLLIN, 0};
  const bool ends = poll(&ended, 1, 20000) == 1;
  close(fd);
  return ends;
}

TEST(WorkerDeath, TakesItsTrainersWithIt) {
  const auto home = std::filesystem::temp_directory_path() / ("gyre-death-" + NewId());
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string self = "/proc/self/exe", flag = "--be-worker", folder = home.string();
  char* arguments[] = {self.data(), flag.data(), folder.data(), nullptr};
  pid_t worker = -1;
  ASSERT_EQ(posix_spawn(&worker, self.c_str(), &actions, nullptr, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  FILE* output = fdopen(ends[0], "r");
  int trainers[2] = {};
  ASSERT_EQ(std::fscanf(output, "%d %d", &trainers[0], &trainers[1]), 2);
  std::fclose(output);
  EXPECT_TRUE(ProcessGroupRuns(trainers[0]) && ProcessGroupRuns(trainers[1]));

  kill(worker, SIGKILL);
  waitpid(worker, nullptr, 0);
  EXPECT_TRUE(Ends(trainers[0]));
  EXPECT_TRUE(Ends(trainers[1]));
  kill(-trainers[0],
       SIGKILL);  // what the fake leaves behind on purpose; the real one starts no processes
  std::filesystem::remove_all(home);
}

}  // namespace
}  // namespace gyre

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--be-worker") return gyre::BeWorker(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
