#pragma once

// Files: whole reads, atomic writes, memory maps, and where Gyre keeps its own.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gyre {

/// The whole file. NOT_FOUND, INVALID_ARGUMENT (a directory, or larger than `max_bytes`).
Result<std::string> ReadFile(const std::filesystem::path& path, size_t max_bytes = size_t{1} << 33);

/// After it returns OK, the file holds `content`, also after a power cut; if it fails or the
/// process dies, the file is as it was. (Temporary file beside it, fsync, rename, fsync of the
/// folder.)
Status WriteFileAtomically(const std::filesystem::path& path, std::string_view content);

/// fsync a file or folder by path.
Status SyncPath(const std::filesystem::path& path);

/// mkdir -p.
Status MakeFolders(const std::filesystem::path& path);

/// GYRE_HOME, else ~/.local/share/gyre. Holds datasets/HASH, objects/HASH, logs/, tmp/.
std::filesystem::path GyreHome();

/// A read-only map of a whole file. Movable; the bytes live as long as the object. Empty files map
/// to an empty view.
class MappedFile {
 public:
  static Result<MappedFile> Open(const std::filesystem::path& path);
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

/// An exclusive advisory lock on a file (flock), held as long as the object lives or the process
/// does. Its holder may remove the file.
class FileLock {
 public:
  /// UNAVAILABLE at once if another process holds it. Creates the file.
  static Result<FileLock> TryAcquire(const std::filesystem::path& path);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace gyre
