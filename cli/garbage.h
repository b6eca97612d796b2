#pragma once

// What lies in a home (or a shared folder of objects) and is of no use any more. Safe beside
// coordinators, workers and clients at work: what is younger than a grace is left alone, since it
// may not have been reported yet, and everything that is asked for or sent again becomes young
// (ObjectStore::Touch). Who takes the grace away takes the care.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace gyre {

struct GarbageOptions {
  std::filesystem::path root;
  std::vector<std::filesystem::path> databases;  // beside those noted in root
  /// Gone for good: not asked, and no longer noted once what only they referred to is deleted.
  std::vector<std::filesystem::path> forgotten;
  Millis grace{24 * 3600 * 1000};
  bool datasets = false;  // those that no unfinished job reads, too
  bool dry_run = false;
};

struct GarbageFreed {
  int objects = 0, datasets = 0, partial = 0;
  int64_t bytes = 0;
};

/// Deletes it; `on_item` hears of each ("object HASH", bytes). FAILED_PRECONDITION: no database is
/// known, or one of them is not there: nothing was deleted. NOT_FOUND: one to be forgotten is not
/// noted. Others: a database cannot be read.
Result<GarbageFreed> CollectGarbage(
    const GarbageOptions& options, Millis now,
    const std::function<void(const std::string& what, int64_t bytes)>& on_item);

}  // namespace gyre
