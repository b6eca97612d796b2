#include "trainer/data/byte_stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace gyre {
namespace {

class FileStream : public ByteStream {
 public:
  FileStream(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
  ~FileStream() override { close(fd_); }

  Result<size_t> Read(char* to, size_t size) override {
    for (;;) {
      const ssize_t got = read(fd_, to, size);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return ErrnoStatus(errno, "cannot read " + name_);
      position_ += static_cast<uint64_t>(got);
      return static_cast<size_t>(got);
    }
  }
  uint64_t position() const override { return position_; }

 private:
  int fd_;
  std::string name_;
  uint64_t position_ = 0;
};

}  // namespace

Result<size_t> ByteStream::ReadFull(char* to, size_t size) {
  size_t done = 0;
  while (done < size) {
    GYRE_ASSIGN_OR_RETURN(const size_t got, Read(to + done, size - done));
    if (got == 0) break;
    done += got;
  }
  return done;
}

Result<std::unique_ptr<ByteStream>> OpenByteStream(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, "cannot open " + path.string());
  std::unique_ptr<ByteStream> file = std::make_unique<FileStream>(fd, path.string());
  const std::string name = path.filename().string();
  if (name.ends_with(".gz") || name.ends_with(".dz")) return Gunzip(std::move(file));
  if (name.ends_with(".zst")) return Unzstd(std::move(file));
  return file;
}

}  // namespace gyre
