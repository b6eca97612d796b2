#include "base/machine.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace gyre {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

std::string ReadOrEmpty(const std::filesystem::path& path) {
  auto content = ReadFile(path, size_t{1} << 22);
  return content.ok() ? *std::move(content) : std::string();
}

std::optional<int64_t> ToNumber(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t");
  if (start == std::string_view::npos) return std::nullopt;
  text.remove_prefix(start);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

// The rest of the first line that begins with `key`.
std::string LineAfter(const std::string& content, std::string_view key) {
  std::istringstream lines(content);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, key.size(), key) == 0) return line.substr(key.size());
  }
  return {};
}

// Every folder whose limits hold for this process: its own cgroup (v2) and those above it.
std::vector<std::filesystem::path> CgroupFolders(const std::filesystem::path& root) {
  const std::filesystem::path top = root / "sys/fs/cgroup";
  std::vector<std::filesystem::path> folders = {top};
  std::filesystem::path folder = top;
  const std::filesystem::path own = LineAfter(ReadOrEmpty(root / "proc/self/cgroup"), "0::/");
  for (const auto& part : own) {
    if (part.empty() || part == "..") break;
    folders.push_back(folder /= part);
  }
  return folders;
}

int CgroupCores(const std::filesystem::path& root) {
  int64_t cores = kNoLimit;
  const auto limit = [&cores](std::optional<int64_t> quota, std::optional<int64_t> period) {
    if (!quota || !period || *quota <= 0 || *period <= 0) return;
    cores = std::min(cores, std::max<int64_t>(1, (*quota + *period / 2) / *period));
  };
  for (const auto& folder : CgroupFolders(root)) {
    const std::string text = ReadOrEmpty(folder / "cpu.max");  // "max 100000" or "200000 100000"
    const size_t space = text.find(' ');
    if (space != std::string::npos)
      limit(ToNumber(text.substr(0, space)), ToNumber(text.substr(space)));
  }
  const std::filesystem::path v1 = root / "sys/fs/cgroup/cpu";
  limit(ToNumber(ReadOrEmpty(v1 / "cpu.cfs_quota_us")),
        ToNumber(ReadOrEmpty(v1 / "cpu.cfs_period_us")));
  return static_cast<int>(std::min<int64_t>(cores, std::numeric_limits<int>::max()));
}

// Of what a group has used: files that the kernel lets go of when somebody wants the memory.
// Without it, a group that has read as much as its limit would seem to be full for ever.
int64_t CachedFiles(const std::filesystem::path& folder, const std::string& prefix) {
  const std::string stat = ReadOrEmpty(folder / "memory.stat");
  return ToNumber(LineAfter(stat, prefix + "inactive_file ")).value_or(0) +
         ToNumber(LineAfter(stat, prefix + "active_file ")).value_or(0);
}

// What is left of, or without `minus_used` the whole of, the tightest memory limit.
int64_t CgroupMemory(const std::filesystem::path& root, bool minus_used) {
  int64_t bytes = kNoLimit;
  const auto limit = [&](const std::filesystem::path& folder, const char* maximum,
                         const char* current, const char* stat_prefix) {
    const auto most = ToNumber(ReadOrEmpty(folder / maximum));  // "max" is no number
    if (!most) return;
    int64_t used = 0;
    if (minus_used) {
      used = ToNumber(ReadOrEmpty(folder / current)).value_or(0);
      used -= std::min(used, CachedFiles(folder, stat_prefix));
    }
    bytes = std::min(bytes, std::max<int64_t>(0, *most - used));
  };
  for (const auto& folder : CgroupFolders(root)) limit(folder, "memory.max", "memory.current", "");
  limit(root / "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_");
  return bytes;
}

int64_t MemoryLine(const std::filesystem::path& root, std::string_view key) {
  return ToNumber(LineAfter(ReadOrEmpty(root / "proc/meminfo"), key)).value_or(0) * 1024;
}

}  // namespace

std::vector<int> NumbersOfList(std::string_view list) {
  constexpr int64_t kLargest = 1 << 16;  // more than any machine has
  std::vector<int> numbers;
  while (!list.empty()) {
    const std::string_view range = list.substr(0, list.find(','));
    list.remove_prefix(std::min(range.size() + 1, list.size()));
    const auto first = ToNumber(range);
    const size_t dash = range.find('-');
    const auto last = dash == std::string_view::npos ? first : ToNumber(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last > kLargest) continue;
    for (int64_t number = *first; number <= *last; ++number) {
      numbers.push_back(static_cast<int>(number));
    }
  }
  return numbers;
}

std::vector<int> UsableProcessors(const std::filesystem::path& root) {
  return NumbersOfList(LineAfter(ReadOrEmpty(root / "proc/self/status"), "Cpus_allowed_list:"));
}

int UsableCores(const std::filesystem::path& root) {
  return std::max(1, std::min(static_cast<int>(UsableProcessors(root).size()), CgroupCores(root)));
}

int64_t MemoryBytes(const std::filesystem::path& root) {
  return std::min(MemoryLine(root, "MemTotal:"), CgroupMemory(root, false));
}

int64_t AvailableMemoryBytes(const std::filesystem::path& root) {
  return std::min(MemoryLine(root, "MemAvailable:"), CgroupMemory(root, true));
}

int64_t OutOfMemoryKills(const std::filesystem::path& root) {
  return ToNumber(LineAfter(ReadOrEmpty(root / "proc/vmstat"), "oom_kill ")).value_or(0);
}

std::string ProcessorModel(const std::filesystem::path& root) {
  const std::string line = LineAfter(ReadOrEmpty(root / "proc/cpuinfo"), "model name");
  const size_t colon = line.find(": ");
  return colon == std::string::npos ? "unknown processor" : line.substr(colon + 2);
}

}  // namespace gyre
