#include "tests/integration/process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

extern char** environ;

namespace gyre {
namespace {

[[noreturn]] void Die(const std::string& what) {
  std::perror(what.c_str());
  std::abort();
}

int OpenProcess(int pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

bool EndsWithin(int exit_fd, Millis timeout) {
  pollfd ended{exit_fd, POLLIN, 0};
  return poll(&ended, 1, static_cast<int>(timeout.count())) == 1;
}

}  // namespace

Process::Process(std::vector<std::string> command,
                 const std::map<std::string, std::string>& environment, const std::string& log) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!environment.contains(text.substr(0, text.find('=')))) variables.push_back(text);
  }
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  std::vector<char*> arguments, entries;
  for (auto& text : command) arguments.push_back(text.data());
  for (auto& text : variables) entries.push_back(text.data());
  arguments.push_back(nullptr);
  entries.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  if (posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), entries.data()) != 0) {
    Die("cannot start " + command[0]);
  }
  posix_spawn_file_actions_destroy(&actions);
  exit_fd_ = OpenProcess(pid_);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), exit_fd_(std::exchange(other.exit_fd_, -1)) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(exit_fd_, other.exit_fd_);
  return *this;
}

Process::~Process() {
  Kill();
  if (exit_fd_ >= 0) close(exit_fd_);
}

bool Process::Running() const { return pid_ > 0 && !EndsWithin(exit_fd_, Millis(0)); }

void Process::Signal(int signal) {
  if (pid_ > 0) kill(pid_, signal);
}

void Process::Kill() {
  Signal(SIGKILL);
  if (pid_ > 0) waitpid(std::exchange(pid_, -1), nullptr, 0);
}

int Process::Wait(Millis timeout) {
  if (pid_ < 0 || !EndsWithin(exit_fd_, timeout)) return -1;
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<int> ChildrenOf(int parent) {
  std::vector<int> children;
  std::error_code error;
  const std::filesystem::path tasks = "/proc/" + std::to_string(parent) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, error)) {
    std::ifstream file(task.path() / "children");
    for (int pid = 0; file >> pid;) children.push_back(pid);
  }
  return children;
}

bool Runs(int pid) {
  const int exit_fd = OpenProcess(pid);
  if (exit_fd < 0) return false;
  const bool ended = EndsWithin(exit_fd, Millis(0));
  close(exit_fd);
  return !ended;
}

void KillProcess(int pid) {
  const int exit_fd = OpenProcess(pid);
  kill(pid, SIGKILL);
  if (exit_fd < 0) return;
  EndsWithin(exit_fd, Millis(10000));
  close(exit_fd);
}

bool Await(const std::function<bool()>& condition, Millis timeout) {
  const Millis end = Clock::Real().Now() + timeout;
  while (!condition()) {
    if (Clock::Real().Now() > end) return false;
    poll(nullptr, 0, 10);
  }
  return true;
}

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    Die("no free port");
  }
  close(fd);
  return ntohs(address.sin_port);
}

}  // namespace gyre
