#include "bench/piped_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

extern char** environ;

namespace gyre {
namespace {

constexpr int kSilenceMs = 600'000;

std::vector<std::string> Environment(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!changes.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : changes) {
    if (!value.empty()) all.push_back(name + "=" + value);
  }
  return all;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<std::unique_ptr<PipedProcess>> PipedProcess::Start(const ProcessCommand& command) {
  // Writing to one that has died is an error, not the end of this process.
  std::signal(SIGPIPE, SIG_IGN);
  auto process = std::unique_ptr<PipedProcess>(new PipedProcess);
  process->name_ = command.words[0];
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  process->to_ = in[1];
  if (pipe2(out, O_CLOEXEC) != 0) return close(in[0]), ErrnoStatus(errno, "pipe");
  process->from_ = out[0];
  std::vector<std::string> words = command.words, environment = Environment(command.environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  const int error = posix_spawnp(&process->pid_, words[0].c_str(), &actions, nullptr,
                                 Pointers(words).data(), Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]), close(out[1]);
  if (error == 0) return process;
  process->pid_ = -1;
  return Unavailable(words[0] + ": " + std::strerror(error));
}

PipedProcess::~PipedProcess() {
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);  // it keeps nothing
  waitpid(pid_, nullptr, 0);
}

Status PipedProcess::WriteLine(const std::string& line) {
  const std::string text = line + "\n";
  if (write(to_, text.data(), text.size()) == static_cast<ssize_t>(text.size())) return OkStatus();
  return ErrnoStatus(errno, name_ + " takes no more words");
}

Result<std::string> PipedProcess::ReadLine() {
  size_t end;
  while ((end = unread_.find('\n')) == std::string::npos) {
    pollfd wait{from_, POLLIN, 0};
    const int ready = poll(&wait, 1, kSilenceMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return DeadlineExceeded(name_ + " has said nothing for ten minutes");
    char buffer[4096];
    const ssize_t count = read(from_, buffer, sizeof buffer);
    if (count <= 0) return Internal(name_ + " ended; what it said stands above");
    unread_.append(buffer, static_cast<size_t>(count));
  }
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  return line;
}

int64_t PipedProcess::PeakMemory() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::atoll(line.c_str() + 6) * 1024;
  }
  return 0;
}

}  // namespace gyre
