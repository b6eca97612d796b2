#include "worker/worker_name.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>

namespace gyre {
namespace {

constexpr int kMaxWorkers = 1000;  // of one home on one machine

bool IsNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-' ||
         c == '/';
}

std::string HostName() {
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0') return "localhost";
  std::string name = host;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !IsNameCharacter(c) || c == '/'; }, '-');
  return name.substr(0, 100);
}

// The host is part of the file's name, because a home may be shared between machines.
std::filesystem::path LockFile(const std::filesystem::path& folder, std::string name) {
  std::replace(name.begin(), name.end(), '/', '@');
  return folder / (name + ".lock");
}

}  // namespace

Result<WorkerName> ClaimWorkerName(const std::filesystem::path& home, const std::string& wanted) {
  const std::filesystem::path folder = home / "workers";
  GYRE_RETURN_IF_ERROR(MakeFolders(folder));
  if (!wanted.empty()) {
    if (wanted.size() > 128 || !std::all_of(wanted.begin(), wanted.end(), IsNameCharacter)) {
      return InvalidArgument(
          "a worker's name has letters, digits and . _ / - only, at most 128, and this is '" +
          wanted + "'");
    }
    auto lock = FileLock::TryAcquire(LockFile(folder, wanted));
    if (lock.ok()) return WorkerName{wanted, *std::move(lock)};
    if (lock.status().code() != StatusCode::kUnavailable) return lock.status();
    return AlreadyExists("another worker on this machine is called '" + wanted +
                         "'; choose another name");
  }
  const std::string host = HostName();
  for (int slot = 0; slot < kMaxWorkers; ++slot) {
    const std::string name = host + "/" + std::to_string(slot);
    auto lock = FileLock::TryAcquire(LockFile(folder, name));
    if (lock.ok()) return WorkerName{name, *std::move(lock)};
    if (lock.status().code() != StatusCode::kUnavailable) return lock.status();
  }
  return AlreadyExists(std::to_string(kMaxWorkers) + " workers run on this machine already");
}

}  // namespace gyre
