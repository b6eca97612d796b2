#include "worker/process_tree.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>

namespace gyre {
namespace {

struct Process {
  ProcessId id;
  char state = 0;
  int parent = 0, group = 0;

  bool runs() const { return state != 'Z' && state != 'X'; }
};

std::string ReadProc(int pid, const char* file) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/" + file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::optional<Process> ReadProcess(int pid) {
  const std::string text = ReadProc(pid, "stat");
  const size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return std::nullopt;
  Process process{.id = {.pid = pid}};
  const int fields =
      std::sscanf(text.c_str() + name_end + 1,
                  " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
                  "%*d %*d %*d %lu",
                  &process.state, &process.parent, &process.group, &process.id.started);
  if (fields != 4) return std::nullopt;
  return process;
}

std::vector<Process> ReadProcesses() {
  std::vector<Process> processes;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const int pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    if (const auto process = ReadProcess(pid)) processes.push_back(*process);
  }
  return processes;
}

bool HasMark(int pid, std::string_view mark) {
  if (mark.empty()) return false;
  const std::string environment = std::string(1, '\0') + ReadProc(pid, "environ");
  const std::string entry = std::string(1, '\0') + std::string(mark) + std::string(1, '\0');
  return environment.find(entry) != std::string::npos;
}

}  // namespace

std::vector<ProcessId> FindOffspring(int root, std::string_view mark) {
  const std::vector<Process> processes = ReadProcesses();
  std::set<int> family = {root};
  std::vector<ProcessId> offspring;
  std::set<int> looked;
  // Children may be listed before their parents: until a round finds nobody new.
  for (bool found = true; found;) {
    found = false;
    for (const Process& process : processes) {
      if (family.contains(process.id.pid)) continue;
      const bool related = family.contains(process.parent) || process.group == root ||
                           (looked.insert(process.id.pid).second && HasMark(process.id.pid, mark));
      if (!related) continue;
      family.insert(process.id.pid);
      found = true;
      if (process.runs()) offspring.push_back(process.id);
    }
  }
  return offspring;
}

void KillProcess(const ProcessId& process) {
  // The descriptor stays with the process that has the number now; then it is seen which that is.
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0));
  if (fd < 0) return;
  const std::optional<Process> now = ReadProcess(process.pid);
  if (now && now->id.started == process.started) {
    syscall(SYS_pidfd_send_signal, fd, SIGKILL, nullptr, 0);
  }
  close(fd);
}

bool ProcessGroupRuns(int group) {
  for (const Process& process : ReadProcesses()) {
    if (process.group == group && process.runs()) return true;
  }
  return false;
}

}  // namespace gyre
