#include "tests/cli/gyre_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "base/ids.h"

namespace gyre {
namespace {

constexpr int kLookAgainMs =
    20;  // the system tells of a process that ends, but not of a file that grows

std::string Contents(const std::filesystem::path& path) {
  const auto text = ReadFile(path);
  return text.ok() ? *text : "";
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

GyreProcess::GyreProcess(const std::vector<std::string>& arguments, const GyreOptions& options)
    : scratch_(std::filesystem::temp_directory_path() / ("gyre-test-" + NewId())) {
  std::filesystem::create_directories(scratch_);
  const std::filesystem::path folder = options.folder.empty() ? scratch_ : options.folder;
  const std::string program = options.program.empty() ? GYRE_PROGRAM : options.program.string();
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment = options.environment;  // of two of a name the first counts
  environment.insert(environment.end(), {"PATH=/usr/bin:/bin", "HOME=" + scratch_.string(),
                                         "GYRE_HOME=" + (scratch_ / "home").string()});

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, (scratch_ / "out").c_str(), O_WRONLY | O_CREAT,
                                   0600);
  posix_spawn_file_actions_addopen(&actions, 2, (scratch_ / "err").c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  const int error = posix_spawn(&pid_, program.c_str(), &actions, nullptr, Pointers(words).data(),
                                Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(error, 0) << program;
  if (error == 0) pid_fd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
}

GyreProcess::~GyreProcess() {
  if (pid_ > 0 && exit_code_ < 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (pid_fd_ >= 0) close(pid_fd_);
  std::error_code ignored;
  std::filesystem::remove_all(scratch_, ignored);
}

void GyreProcess::Signal(int signal) { kill(pid_, signal); }

int GyreProcess::Wait(Millis deadline) {
  if (exit_code_ >= 0 || pid_fd_ < 0) return exit_code_;
  pollfd ended{pid_fd_, POLLIN, 0};
  if (poll(&ended, 1, static_cast<int>(deadline.count())) != 1) {
    ADD_FAILURE() << "it still runs after " << deadline.count() << " ms; it has said:\n" << error();
    return -1;
  }
  int status = 0;
  waitpid(pid_, &status, 0);
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return exit_code_;
}

bool GyreProcess::WaitForError(const std::string& text, Millis deadline) {
  const Millis until = Clock::Real().Now() + deadline;
  pollfd ended{pid_fd_, POLLIN, 0};
  while (Clock::Real().Now() < until) {
    const bool has_ended = poll(&ended, 1, kLookAgainMs) == 1;
    if (error().find(text) != std::string::npos) return true;
    if (has_ended) return false;
  }
  return false;
}

std::string GyreProcess::output() const { return Contents(scratch_ / "out"); }
std::string GyreProcess::error() const { return Contents(scratch_ / "err"); }

GyreResult RunGyre(const std::vector<std::string>& arguments, const GyreOptions& options) {
  GyreProcess process(arguments, options);
  GyreResult result;
  result.exit_code = process.Wait();
  result.output = process.output();
  result.error = process.error();
  return result;
}

}  // namespace gyre
