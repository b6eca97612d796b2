#pragma once

// A full disk is a state of a worker, no failure of a job: whoever finds the disk full says so
// here, waits until there is room, and tries again. The worker takes no new job meanwhile, and its
// heartbeats say why. All calls from any thread.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"

namespace gyre {

struct DiskSpace {
  int64_t free_bytes = 0, total_bytes = 0;
};

class DiskRoom {
 public:
  using Look = std::function<std::optional<DiskSpace>()>;

  /// Of the disk that `folder`, or the nearest folder above it that exists, is on.
  explicit DiskRoom(const std::filesystem::path& folder);
  DiskRoom(Look look, const Clock& clock);

  /// Something could not be written for want of room.
  void Filled(const std::string& message);
  /// Until there is more room than then by 64 MiB (less on a small disk), or a minute has passed: a
  /// quota cannot be seen, only tried.
  bool full();
  /// For people; empty = there is room.
  std::string Problem();
  /// OK once there is room, CANCELLED once `stop` is requested.
  Status AwaitRoom(std::stop_token stop);

 private:
  bool FullLocked() GYRE_REQUIRES(mutex_);

  const Look look_;
  const Clock& clock_;
  Mutex mutex_;
  Condition never_;
  std::string message_ GYRE_GUARDED_BY(mutex_);       // empty = there is room
  int64_t needed_bytes_ GYRE_GUARDED_BY(mutex_) = 0;  // free, to be called room
  Millis until_ GYRE_GUARDED_BY(mutex_){0};
};

}  // namespace gyre
