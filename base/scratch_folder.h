#pragma once

// A folder for what is not finished yet, under GYRE_HOME/tmp. It goes away with the object; one
// whose process was killed goes away when the next is made, in whichever process: a lock file in it
// is held as long as its maker lives.

#include <filesystem>
#include <string>

#include "base/files.h"
#include "base/status.h"

namespace gyre {

class ScratchFolder {
 public:
  /// Makes HOME/tmp/KIND-ID, and removes abandoned ones of the same kind.
  static Result<ScratchFolder> Create(const std::filesystem::path& home, const std::string& kind);
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  /// Removes it with all that is in it.
  ~ScratchFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  ScratchFolder(std::filesystem::path path, FileLock lock);

  std::filesystem::path path_;  // empty: moved from
  FileLock lock_;
};

}  // namespace gyre
