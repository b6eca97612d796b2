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
    // Without a lock it is going away at this moment.
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
    const std::string name = kind + "-" + NewId();
    const fs::path path = tmp / name, hidden = tmp / ("." + name);
    // It has its lock before it has its name: one without would be taken for abandoned.
    GYRE_RETURN_IF_ERROR(MakeFolders(hidden));
    auto lock = FileLock::TryAcquire(hidden / kLock);
    status = lock.status();
    std::error_code error, ignored;
    if (lock.ok()) {
      fs::rename(hidden, path, error);
      if (!error) return ScratchFolder(path, *std::move(lock));
      status = ErrnoStatus(error.value(), "cannot make " + path.string());
    }
    fs::remove_all(hidden, ignored);
    // Unless whoever cleans everything up (`gyre gc`) came in between, another try is no use.
    if (status.code() != StatusCode::kUnavailable && status.code() != StatusCode::kNotFound) break;
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
