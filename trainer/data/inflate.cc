#include "trainer/data/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

namespace gyre {

Result<Inflated> Inflate(std::string_view data, size_t max_bytes) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return ResourceExhausted("no memory to inflate a zlib stream");
  // zlib counts in 32 bits; no input of ours is longer.
  const size_t given = std::min<size_t>(data.size(), std::numeric_limits<uInt>::max());
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(given);
  Inflated out;
  Status status;
  char buffer[1 << 16];
  for (int code = Z_OK; code != Z_STREAM_END;) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof buffer;
    code = inflate(&stream, Z_NO_FLUSH);
    const size_t got = sizeof buffer - stream.avail_out;
    if (code != Z_OK && code != Z_STREAM_END) {
      status = DataLoss(std::string("not a whole zlib stream: ") +
                        (stream.msg != nullptr ? stream.msg : "it is cut off"));
      break;
    }
    if (out.bytes.size() + got > max_bytes) {
      status =
          ResourceExhausted("a zlib stream is longer than " + std::to_string(max_bytes) + " bytes");
      break;
    }
    out.bytes.append(buffer, got);
  }
  out.consumed = given - stream.avail_in;
  inflateEnd(&stream);
  if (!status.ok()) return status;
  return out;
}

}  // namespace gyre
