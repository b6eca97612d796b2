#pragma once

// Cores and memory of this machine as far as this process may use them: affinity and cgroup limits
// honoured, so that a container of 2 cores on a machine of 64 says 2. Read from /proc and /sys
// below `root`; what cannot be read falls back to one core and no memory. Keeps nothing:
// thread-safe.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

/// The system's lists of numbers: "0-3,8" is 0, 1, 2, 3, 8. What is none is left out.
std::vector<int> NumbersOfList(std::string_view list);

/// The numbers of the processors that this process may run on, ascending; empty if they can't be
/// read.
std::vector<int> UsableProcessors(const std::filesystem::path& root = "/");

/// How many of them there is time for.
int UsableCores(const std::filesystem::path& root = "/");

int64_t MemoryBytes(const std::filesystem::path& root = "/");

/// Memory that a new process could use now.
int64_t AvailableMemoryBytes(const std::filesystem::path& root = "/");

/// How many processes the kernel has killed for want of memory since the machine started.
int64_t OutOfMemoryKills(const std::filesystem::path& root = "/");

/// "AMD EPYC 9B45".
std::string ProcessorModel(const std::filesystem::path& root = "/");

}  // namespace gyre
