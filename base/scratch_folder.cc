#include "base/scratch_folder.h"

#include <utility>

#include "base/ids.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

constexpr char kLock[] = "lock";

void RemoveAbandoned(const fs::path& tmp, const std::string& prefix) {
  std::error_code error, ignored;
  for (fs::directory_iterator entry(tmp, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path folder = entry->path();
    if (!folder.filename().string().starts_with(prefix)) continue;
    // Without a lock it is being made at this moment, or next to nothing was.
    if (!fs::exists(folder / kLock, ignored)) continue;
    const auto lock = FileLock::TryAcquire(folder / kLock);
    if (lock.ok()) fs::remove_all(folder, ignored);
  }
}

}  // namespace

Result<ScratchFolder> ScratchFolder::Create(const fs::path& home, const std::string& kind) {
  const fs::path tmp = home / "tmp";
  RemoveAbandoned(tmp, kind + "-");
  Status status;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const fs::path path = tmp / (kind + "-" + NewId());
    GYRE_RETURN_IF_ERROR(MakeFolders(path));
    auto lock = FileLock::TryAcquire(path / kLock);
    if (lock.ok()) return ScratchFolder(path, *std::move(lock));
    // UNAVAILABLE: somebody else took the new lock file for an abandoned one.
    status = lock.status();
    std::error_code ignored;
    fs::remove_all(path, ignored);
    if (status.code() != StatusCode::kUnavailable) break;
  }
  return status;
}

ScratchFolder::ScratchFolder(fs::path path, FileLock lock)
    : path_(std::move(path)), lock_(std::move(lock)) {}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace gyre
