// In a build without libzstd.

#include "trainer/data/byte_stream.h"

namespace gyre {

Result<std::unique_ptr<ByteStream>> Unzstd(std::unique_ptr<ByteStream>) {
  return Unimplemented(
      "this build cannot unpack .zst: install libzstd-dev and build again, or unpack the file with "
      "zstd -d");
}

}  // namespace gyre
