#include "worker/disk_room.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace gyre {
namespace {

constexpr int64_t kRoomBytes = int64_t{64} << 20;
constexpr int64_t kRoomShare = 20;  // of a small disk, one byte in so many is room
constexpr Millis kLongest{60000};
constexpr Millis kLook{500};

std::optional<DiskSpace> SpaceAt(std::filesystem::path folder) {
  struct statvfs info {};
  while (statvfs(folder.c_str(), &info) != 0) {
    if (!folder.has_relative_path()) return std::nullopt;
    folder = folder.parent_path();
  }
  return DiskSpace{static_cast<int64_t>(info.f_bavail * info.f_frsize),
                   static_cast<int64_t>(info.f_blocks * info.f_frsize)};
}

}  // namespace

DiskRoom::DiskRoom(const std::filesystem::path& folder)
    : DiskRoom([folder] { return SpaceAt(folder); }, Clock::Real()) {}

DiskRoom::DiskRoom(Look look, const Clock& clock) : look_(std::move(look)), clock_(clock) {}

void DiskRoom::Filled(const std::string& message) {
  const MutexLock lock(mutex_);
  if (message_.empty()) {
    LogError("the disk is full (" + message +
             "); no new jobs until there is room, then work goes on by itself");
  }
  message_ = message;
  const DiskSpace space = look_().value_or(DiskSpace{});
  needed_bytes_ = space.free_bytes + std::min(kRoomBytes, space.total_bytes / kRoomShare);
  until_ = clock_.Now() + kLongest;
}

bool DiskRoom::FullLocked() {
  if (message_.empty()) return false;
  const auto space = look_();
  if (space && space->free_bytes < needed_bytes_ && clock_.Now() < until_) return true;
  message_.clear();
  LogInfo("there may be room on the disk again");
  return false;
}

bool DiskRoom::full() {
  const MutexLock lock(mutex_);
  return FullLocked();
}

std::string DiskRoom::Problem() {
  const MutexLock lock(mutex_);
  return FullLocked() ? "the disk is full: " + message_ : "";
}

Status DiskRoom::AwaitRoom(std::stop_token stop) {
  MutexLock lock(mutex_);
  while (FullLocked()) {
    never_.WaitFor(mutex_, stop, kLook, [] { return false; });
    if (stop.stop_requested()) return Cancelled("broken off while the disk was full");
  }
  return OkStatus();
}

}  // namespace gyre
