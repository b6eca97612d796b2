#include "base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/ids.h"

namespace gyre {
namespace {

// Closes on scope exit.
struct Descriptor {
  explicit Descriptor(int fd) : fd(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  int fd;
};

Status WriteAll(int fd, std::string_view content, const std::string& name) {
  while (!content.empty()) {
    const ssize_t written = write(fd, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, "cannot write " + name);
    }
    content.remove_prefix(static_cast<size_t>(written));
  }
  return OkStatus();
}

}  // namespace

Result<std::string> ReadFile(const std::filesystem::path& path, size_t max_bytes) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0) return ErrnoStatus(errno, "cannot open " + path.string());
  struct stat info {};
  if (fstat(file.fd, &info) != 0) return ErrnoStatus(errno, "cannot stat " + path.string());
  if (S_ISDIR(info.st_mode)) return InvalidArgument(path.string() + " is a directory, not a file");
  if (static_cast<size_t>(info.st_size) > max_bytes) {
    return InvalidArgument(path.string() + " is larger than " + std::to_string(max_bytes) +
                           " bytes");
  }
  std::string content;
  content.reserve(static_cast<size_t>(info.st_size));
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = read(file.fd, buffer, sizeof buffer);
    if (got < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, "cannot read " + path.string());
    }
    if (got == 0) return content;
    if (content.size() + static_cast<size_t>(got) > max_bytes) {
      return InvalidArgument(path.string() + " is larger than " + std::to_string(max_bytes) +
                             " bytes");
    }
    content.append(buffer, static_cast<size_t>(got));
  }
}

Status SyncPath(const std::filesystem::path& path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0) return ErrnoStatus(errno, "cannot open " + path.string());
  if (fsync(file.fd) != 0) return ErrnoStatus(errno, "cannot sync " + path.string());
  return OkStatus();
}

Status WriteFileAtomically(const std::filesystem::path& path, std::string_view content) {
  const std::filesystem::path temporary = path.string() + ".tmp-" + NewId().substr(0, 8);
  const auto write_and_sync = [&]() -> Status {
    Descriptor file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (file.fd < 0) return ErrnoStatus(errno, "cannot create " + temporary.string());
    GYRE_RETURN_IF_ERROR(WriteAll(file.fd, content, temporary.string()));
    if (fsync(file.fd) != 0) return ErrnoStatus(errno, "cannot sync " + temporary.string());
    return OkStatus();
  };
  Status status = write_and_sync();
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus(errno, "cannot rename to " + path.string());
  }
  if (!status.ok()) {
    unlink(temporary.c_str());
    return status;
  }
  const std::filesystem::path folder = path.parent_path();
  return SyncPath(folder.empty() ? "." : folder);
}

Status MakeFolders(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return ErrnoStatus(error.value(), "cannot create folder " + path.string());
  return OkStatus();
}

std::filesystem::path GyreHome() {
  if (const char* home = std::getenv("GYRE_HOME"); home != nullptr && *home != '\0') return home;
  const char* user = std::getenv("HOME");
  return std::filesystem::path(user != nullptr && *user != '\0' ? user : "/tmp") /
         ".local/share/gyre";
}

Result<MappedFile> MappedFile::Open(const std::filesystem::path& path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0) return ErrnoStatus(errno, "cannot open " + path.string());
  struct stat info {};
  if (fstat(file.fd, &info) != 0) return ErrnoStatus(errno, "cannot stat " + path.string());
  if (!S_ISREG(info.st_mode)) return InvalidArgument(path.string() + " is not a regular file");
  MappedFile mapped;
  mapped.size_ = static_cast<size_t>(info.st_size);
  if (mapped.size_ > 0) {
    void* data = mmap(nullptr, mapped.size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (data == MAP_FAILED) {
      mapped.size_ = 0;
      return ErrnoStatus(errno, "cannot map " + path.string());
    }
    mapped.data_ = data;
  }
  return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
}

Result<FileLock> FileLock::TryAcquire(const std::filesystem::path& path) {
  while (true) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) return ErrnoStatus(errno, "cannot open " + path.string());
    FileLock lock(fd);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return Unavailable(path.string() + " is locked by another process");
      return ErrnoStatus(errno, "cannot lock " + path.string());
    }
    // Whoever held it may have removed the file meanwhile: what is locked must be what others find.
    struct stat locked {
    }, named{};
    if (fstat(fd, &locked) != 0) return ErrnoStatus(errno, "cannot stat " + path.string());
    if (stat(path.c_str(), &named) == 0 && named.st_ino == locked.st_ino &&
        named.st_dev == locked.st_dev) {
      return lock;
    }
  }
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace gyre
