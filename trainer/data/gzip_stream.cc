#include <zlib.h>

#include <algorithm>
#include <string>
#include <vector>

#include "trainer/data/byte_stream.h"

namespace gyre {
namespace {

class GzipStream : public ByteStream {
 public:
  explicit GzipStream(std::unique_ptr<ByteStream> packed) : packed_(std::move(packed)) {}
  ~GzipStream() override {
    if (open_) inflateEnd(&zlib_);
  }

  Status Open() {
    if (inflateInit2(&zlib_, 16 + MAX_WBITS) != Z_OK) {
      return ResourceExhausted("no memory to unpack gzip");
    }
    open_ = true;
    return OkStatus();
  }

  Result<size_t> Read(char* to, size_t size) override {
    zlib_.next_out = reinterpret_cast<Bytef*>(to);
    zlib_.avail_out = static_cast<uInt>(std::min<size_t>(size, 1 << 30));
    const uInt wanted = zlib_.avail_out;
    while (zlib_.avail_out == wanted) {
      if (zlib_.avail_in == 0) {
        GYRE_ASSIGN_OR_RETURN(const size_t got, packed_->Read(input_.data(), input_.size()));
        if (got == 0 && !in_member_ && any_) return size_t{0};
        if (got == 0) return DataLoss("the gzip file is cut off");
        zlib_.next_in = reinterpret_cast<Bytef*>(input_.data());
        zlib_.avail_in = static_cast<uInt>(got);
      }
      if (!in_member_ && any_) inflateReset(&zlib_);
      in_member_ = any_ = true;
      const int code = inflate(&zlib_, Z_NO_FLUSH);
      if (code == Z_STREAM_END) {
        in_member_ = false;
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        return DataLoss(std::string("the gzip file is damaged: ") +
                        (zlib_.msg != nullptr ? zlib_.msg : "no more is known"));
      }
    }
    return static_cast<size_t>(wanted - zlib_.avail_out);
  }
  uint64_t position() const override { return packed_->position(); }

 private:
  std::unique_ptr<ByteStream> packed_;
  z_stream zlib_{};
  bool open_ = false, in_member_ = false, any_ = false;
  std::vector<char> input_ = std::vector<char>(1 << 17);
};

}  // namespace

Result<std::unique_ptr<ByteStream>> Gunzip(std::unique_ptr<ByteStream> packed) {
  auto stream = std::make_unique<GzipStream>(std::move(packed));
  GYRE_RETURN_IF_ERROR(stream->Open());
  return std::unique_ptr<ByteStream>(std::move(stream));
}

}  // namespace gyre
