#pragma once

// A worker's name must be the same after a restart, so that the coordinator can end what the dead
// one held, and must differ between two living workers of one machine. Both come from a lock file
// that the living hold.

#include <filesystem>
#include <string>

#include "base/files.h"

namespace gyre {

struct WorkerName {
  std::string name;
  FileLock lock;  // for as long as the name is used
};

/// `wanted`, or HOST/N with the first N that is free. ALREADY_EXISTS: a living worker has the name
/// that is wanted. INVALID_ARGUMENT: it is no name ([A-Za-z0-9._/-], at most 128 characters).
Result<WorkerName> ClaimWorkerName(const std::filesystem::path& home, const std::string& wanted);

}  // namespace gyre
