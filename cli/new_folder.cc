#include "cli/new_folder.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/files.h"
#include "base/ids.h"

namespace gyre {

namespace fs = std::filesystem;

Result<NewFolder> NewFolder::Create(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error)) {
    if (!fs::is_directory(folder, error)) {
      return FailedPrecondition(folder.string() + " is a file; choose another folder");
    }
    if (!fs::is_empty(folder, error)) {
      return FailedPrecondition(folder.string() + " is there and not empty; choose another folder");
    }
  }
  // "out/" has an empty last part.
  fs::path whole = folder.has_filename() ? folder : folder.parent_path();
  NewFolder made(whole, whole.string() + ".partial-" + NewId());
  GYRE_RETURN_IF_ERROR(MakeFolders(made.partial_));
  return made;
}

NewFolder::NewFolder(NewFolder&& other) noexcept
    : folder_(std::move(other.folder_)),
      partial_(std::exchange(other.partial_, {})),
      name_(std::move(other.name_)),
      file_(std::move(other.file_)) {}

NewFolder::~NewFolder() {
  file_.reset();
  std::error_code error;
  if (!partial_.empty()) fs::remove_all(partial_, error);
}

Status NewFolder::Failed(std::string_view what) const {
  Status status = ErrnoStatus(errno, what);
  if (status.code() != StatusCode::kResourceExhausted) return status;
  return ResourceExhausted(status.message() +
                           "; free some room, or choose a folder on another disk");
}

Status NewFolder::Append(const fs::path& file, std::string_view text) {
  if (file_ == nullptr || file != name_) {
    GYRE_RETURN_IF_ERROR(Close());
    const fs::path path = partial_ / file;
    GYRE_RETURN_IF_ERROR(MakeFolders(path.parent_path()));
    file_.reset(std::fopen(path.c_str(), "ab"));
    if (file_ == nullptr) return Failed("cannot write " + path.string());
    name_ = file;
  }
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size()) return OkStatus();
  return Failed("cannot write " + (folder_ / name_).string());
}

Status NewFolder::Close() {
  if (file_ == nullptr) return OkStatus();
  const bool written = std::fflush(file_.get()) == 0 && fsync(fileno(file_.get())) == 0;
  const Status status = written ? OkStatus() : Failed("cannot write " + (folder_ / name_).string());
  file_.reset();
  return status;
}

Status NewFolder::Finish() {
  GYRE_RETURN_IF_ERROR(Close());
  if (std::rename(partial_.c_str(), folder_.c_str()) != 0) {
    return Failed("cannot rename to " + folder_.string());
  }
  partial_.clear();
  return OkStatus();
}

}  // namespace gyre
