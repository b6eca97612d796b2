#pragma once

// Processes that a trainer has started, directly or not, as /proc shows them. A double fork with
// setsid leaves a process's group, session and parents behind; a trainer is the reaper of its
// orphans as long as it lives (PR_SET_CHILD_SUBREAPER), so that they stay its descendants, and what
// outlives it is known by a mark in its environment.

#include <cstdint>
#include <string_view>
#include <vector>

namespace gyre {

/// A number alone may be another process's soon.
struct ProcessId {
  int pid = 0;
  uint64_t started = 0;  // clock ticks since the machine started
};

/// Those that run (dead ones that nobody has waited for don't count) and stem from `root`, itself
/// left out: its descendants, the other members of its group, and whoever has `mark` ("NAME=VALUE",
/// empty = none) in its environment.
std::vector<ProcessId> FindOffspring(int root, std::string_view mark);

/// SIGKILL; nothing if that process is gone.
void KillProcess(const ProcessId& process);

/// Whether any process of the group runs, its leader included.
bool ProcessGroupRuns(int group);

}  // namespace gyre
