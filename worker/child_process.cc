#include "worker/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/ids.h"
#include "base/log.h"
#include "worker/process_tree.h"

extern char** environ;

namespace gyre {
namespace {

// What outlives SIGKILL this long is stuck in the kernel; the slot can't wait for it for ever.
constexpr Millis kTreeEnd{10000};
// By which whatever a child starts is known as its own.
constexpr char kMarkName[] = "GYRE_TRAINER";

struct Descriptor {
  explicit Descriptor(int fd = -1) : fd(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd, other.fd);
    return *this;
  }
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  int Release() { return std::exchange(fd, -1); }
  int fd;
};

// Both ends of a channel. The child's end is moved out of the way of the numbers it will be copied
// to.
struct Channel {
  Descriptor ours, theirs;
};

Result<Channel> MoveAside(int ours, int theirs) {
  Channel channel{Descriptor(ours), Descriptor(theirs)};
  Descriptor moved(fcntl(theirs, F_DUPFD_CLOEXEC, 10));
  if (moved.fd < 0) return ErrnoStatus(errno, "cannot duplicate a descriptor");
  std::swap(channel.theirs, moved);
  return channel;
}

Result<Channel> MakePipe() {  // theirs writes, ours reads
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "cannot make a pipe");
  return MoveAside(ends[0], ends[1]);
}

// A socket, because sending to one whose other end is gone is an error and not a SIGPIPE.
Result<Channel> MakeSocket() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoStatus(errno, "cannot make a socket");
  }
  return MoveAside(ends[0], ends[1]);
}

std::vector<std::string> MergedEnvironment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (text.starts_with("GYRE_TOKEN=")) continue;  // the worker's secret is no trainer's business
    if (!added.contains(text.substr(0, text.find('=')))) merged.push_back(text);
  }
  for (const auto& [name, value] : added) merged.push_back(name + "=" + value);
  return merged;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// posix_spawn of `options` with those three descriptors; the pid or an error.
Result<int> SpawnWith(const ChildOptions& options, int input, int errors, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, input, 0);
  posix_spawn_file_actions_adddup2(&actions, errors, 1);  // a stray print belongs into the log too
  posix_spawn_file_actions_adddup2(&actions, errors, 2);
  posix_spawn_file_actions_adddup2(&actions, output, options.output_fd);
  posix_spawn_file_actions_addclosefrom_np(&actions, std::max(options.output_fd, 2) + 1);

  sigset_t none, usual;
  sigemptyset(&none);
  sigfillset(&usual);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

  std::vector<std::string> arguments = options.arguments;
  arguments.insert(arguments.begin(), options.program.string());
  std::vector<std::string> environment = MergedEnvironment(options.environment);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, options.program.c_str(), &actions, &attributes,
                                Pointers(arguments).data(), Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return ErrnoStatus(error, "cannot start " + options.program.string());
  return pid;
}

// Whether `fd` became readable in time.
bool Readable(int fd, Millis timeout) {
  const Millis end = Clock::Real().Now() + timeout;
  while (true) {
    pollfd wanted{fd, POLLIN, 0};
    const Millis left = std::max(Millis(0), end - Clock::Real().Now());
    const int ready = poll(&wanted, 1, static_cast<int>(left.count()));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::Spawn(const ChildOptions& given) {
  ChildOptions options = given;
  const std::string id = NewId();
  options.environment[kMarkName] = id;
  GYRE_ASSIGN_OR_RETURN(Channel input, MakeSocket());
  GYRE_ASSIGN_OR_RETURN(Channel output, MakePipe());
  GYRE_ASSIGN_OR_RETURN(Channel errors, MakePipe());
  GYRE_ASSIGN_OR_RETURN(const int pid,
                        SpawnWith(options, input.theirs.fd, errors.theirs.fd, output.theirs.fd));
  // By number: glibc 2.36 declares pidfd_open for C alone.
  const int exit_fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (exit_fd < 0) {
    const int error = errno;
    kill(-pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return ErrnoStatus(error, "cannot watch the process " + std::to_string(pid));
  }
  fcntl(output.ours.fd, F_SETFL, O_NONBLOCK);
  fcntl(errors.ours.fd, F_SETFL, O_NONBLOCK);
  return std::unique_ptr<ChildProcess>(new ChildProcess(kMarkName + ("=" + id), pid, exit_fd,
                                                        input.ours.Release(), output.ours.Release(),
                                                        errors.ours.Release()));
}

ChildProcess::ChildProcess(std::string mark, int pid, int exit_fd, int input, int output,
                           int errors)
    : mark_(std::move(mark)),
      pid_(pid),
      exit_fd_(exit_fd),
      output_(output),
      errors_(errors),
      input_(input) {}

ChildProcess::~ChildProcess() {
  if (!reaped_) {
    Kill();
    Wait(Millis(0));
  }
  CloseInput();
  close(output_);
  close(errors_);
  close(exit_fd_);
}

Status ChildProcess::Write(std::string_view text, Millis timeout) {
  const MutexLock lock(input_mutex_);
  const Millis end = Clock::Real().Now() + timeout;
  while (!text.empty() && input_ >= 0) {
    const ssize_t sent = send(input_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      text.remove_prefix(static_cast<size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    const Millis left = end - Clock::Real().Now();
    pollfd wanted{input_, POLLOUT, 0};
    if (errno == EAGAIN && left > Millis(0) &&
        poll(&wanted, 1, static_cast<int>(left.count())) >= 0)
      continue;
    close(std::exchange(input_, -1));
  }
  if (input_ < 0)
    return Unavailable("the process " + std::to_string(pid_) + " does not read its input any more");
  return OkStatus();
}

void ChildProcess::CloseInput() {
  const MutexLock lock(input_mutex_);
  if (input_ >= 0) close(std::exchange(input_, -1));
}

void ChildProcess::Kill() {
  const MutexLock lock(pid_mutex_);
  if (!reaped_) kill(-pid_, SIGKILL);
}

void ChildProcess::EndOffspring() {
  const Millis give_up = Clock::Real().Now() + kTreeEnd;
  while (true) {
    const std::vector<ProcessId> offspring = FindOffspring(pid_, mark_);
    if (offspring.empty()) return;
    for (const ProcessId& process : offspring) KillProcess(process);
    if (Clock::Real().Now() > give_up) {
      LogError("the process " + std::to_string(offspring.front().pid) +
               ", started by a trainer, does not die; going on without it");
      return;
    }
    usleep(2000);  // nothing tells when a process that isn't our child ends
  }
}

ChildEnd ChildProcess::Wait(Millis grace) {
  const bool overdue = !Readable(exit_fd_, grace);
  Kill();  // the leader if it still runs, and its group: the number is ours until it is waited for
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  EndOffspring();
  const MutexLock lock(pid_mutex_);
  reaped_ = true;
  rusage usage{};
  wait4(pid_, nullptr, 0, &usage);
  const bool exited = info.si_code == CLD_EXITED;
  return {exited ? info.si_status : 0, exited ? 0 : info.si_status, overdue,
          int64_t{usage.ru_maxrss} * 1024};
}

}  // namespace gyre
