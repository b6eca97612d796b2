#pragma once

// A disk of a few megabytes that a test can fill: a tmpfs of the calling thread's own mount
// namespace (threads that start later see it, too), so that nothing is left when the program ends.
// Needs to be root.

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace gyre {

class SmallDisk {
 public:
  SmallDisk(const std::filesystem::path& folder, size_t bytes) : folder_(folder) {
    std::filesystem::create_directories(folder);
    const std::string size = "size=" + std::to_string(bytes);
    mounted_ = unshare(CLONE_NEWNS) == 0 &&
               mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               mount("tmpfs", folder.c_str(), "tmpfs", 0, size.c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }

  /// Nothing is written there any more.
  bool MakeReadOnly() const {
    return mount(nullptr, folder_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }

  /// Until not a byte fits.
  void Fill() const {
    const int fd = open(Filler().c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    char block[4096] = {};
    for (size_t size = sizeof block; size > 0;) {
      if (write(fd, block, size) < static_cast<ssize_t>(size)) size /= 2;
    }
    close(fd);
  }
  void Empty() const { unlink(Filler().c_str()); }

 private:
  std::filesystem::path Filler() const { return folder_ / "filler"; }

  const std::filesystem::path folder_;
  bool mounted_ = false;
};

}  // namespace gyre
