#include <zstd.h>
#include <zstd_errors.h>

#include <string>
#include <vector>

#include "trainer/data/byte_stream.h"

namespace gyre {
namespace {

constexpr int kLargestWindowLog = 27;

class ZstdStream : public ByteStream {
 public:
  explicit ZstdStream(std::unique_ptr<ByteStream> packed)
      : packed_(std::move(packed)), zstd_(ZSTD_createDStream()) {}
  ~ZstdStream() override { ZSTD_freeDStream(zstd_); }

  Status Open() {
    if (zstd_ == nullptr ||
        ZSTD_isError(ZSTD_DCtx_setParameter(zstd_, ZSTD_d_windowLogMax, kLargestWindowLog))) {
      return ResourceExhausted("no memory to unpack Zstandard");
    }
    return OkStatus();
  }

  Result<size_t> Read(char* to, size_t size) override {
    ZSTD_outBuffer out{to, size, 0};
    while (out.pos == 0) {
      if (in_.pos == in_.size && !full_) {
        GYRE_ASSIGN_OR_RETURN(const size_t got, packed_->Read(input_.data(), input_.size()));
        if (got == 0 && frame_ended_) return size_t{0};
        if (got == 0) return DataLoss("the Zstandard file is cut off");
        in_ = {input_.data(), got, 0};
      }
      const size_t code = ZSTD_decompressStream(zstd_, &out, &in_);
      if (ZSTD_isError(code)) {
        const std::string what = ZSTD_getErrorName(code);
        return ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge
                   ? ResourceExhausted(
                         "the Zstandard file needs a window above 128 MiB; pack it "
                         "again without --long=31 or --ultra")
                   : DataLoss("the Zstandard file is damaged: " + what);
      }
      frame_ended_ = code == 0;
      full_ = code != 0 && out.pos == out.size;  // there may be more without more input
    }
    return out.pos;
  }
  uint64_t position() const override { return packed_->position(); }

 private:
  std::unique_ptr<ByteStream> packed_;
  ZSTD_DStream* zstd_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  bool frame_ended_ = false, full_ = false;
  std::vector<char> input_ = std::vector<char>(1 << 17);
};

}  // namespace

Result<std::unique_ptr<ByteStream>> Unzstd(std::unique_ptr<ByteStream> packed) {
  auto stream = std::make_unique<ZstdStream>(std::move(packed));
  GYRE_RETURN_IF_ERROR(stream->Open());
  return std::unique_ptr<ByteStream>(std::move(stream));
}

}  // namespace gyre
