#pragma once

// Bytes of a file from beginning to end in bounded memory, through gzip or Zstandard where the
// file's name says so. zlib is known only to gzip_stream.cc and inflate.cc, Zstandard only to
// zstd_stream.cc; a build without the latter has no_zstd.cc.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "base/status.h"

namespace gyre {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Up to `size` bytes (size > 0), and 0 only at the end. DATA_LOSS: damaged or cut off.
  virtual Result<size_t> Read(char* to, size_t size) = 0;
  /// How much of the file itself has been read.
  virtual uint64_t position() const = 0;

  /// As Read(), but fewer bytes than `size` only at the end.
  Result<size_t> ReadFull(char* to, size_t size);
};

/// Unpacked if the name ends in .gz, .dz or .zst. NOT_FOUND, UNIMPLEMENTED.
Result<std::unique_ptr<ByteStream>> OpenByteStream(const std::filesystem::path& path);

/// One or more gzip members, end to end.
Result<std::unique_ptr<ByteStream>> Gunzip(std::unique_ptr<ByteStream> packed);
/// One or more Zstandard frames. Windows above 128 MiB are refused: RESOURCE_EXHAUSTED.
Result<std::unique_ptr<ByteStream>> Unzstd(std::unique_ptr<ByteStream> packed);

}  // namespace gyre
