#include "trainer/data/token_file.h"

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "trainer/data/document_reader.h"

namespace gyre {
namespace {

constexpr size_t kHeaderBytes = 1024;
constexpr int32_t kMagic16 = 20240520, kMagic32 = 20240801;

struct Layout {
  size_t header = 0;
  size_t id_bytes = 2;
};

Result<Layout> LayoutOf(const std::vector<char>& begin, uint64_t size) {
  std::array<int32_t, 3> head{};
  if (begin.size() >= sizeof head) std::memcpy(head.data(), begin.data(), sizeof head);
  Layout layout;
  if (begin.size() == kHeaderBytes && (head[0] == kMagic16 || head[0] == kMagic32)) {
    layout = {kHeaderBytes, head[0] == kMagic16 ? size_t{2} : size_t{4}};
    const auto count = static_cast<uint64_t>(static_cast<uint32_t>(head[2]));
    if (size != kHeaderBytes + count * layout.id_bytes) {
      return InvalidArgument("its header says " + std::to_string(count) + " ids, which would be " +
                             std::to_string(kHeaderBytes + count * layout.id_bytes) +
                             " bytes, and it has " + std::to_string(size));
    }
  } else if (size % 2 != 0) {
    return InvalidArgument("a file of 16-bit ids has an even number of bytes, and this has " +
                           std::to_string(size));
  }
  return layout;
}

}  // namespace

Status ReadTokenFile(ByteStream* file, uint64_t size, int ids, int document_start,
                     DocumentSink* sink, const std::function<void()>& on_piece) {
  std::vector<char> buffer(kHeaderBytes);
  GYRE_ASSIGN_OR_RETURN(size_t filled, file->ReadFull(buffer.data(), buffer.size()));
  buffer.resize(filled);
  GYRE_ASSIGN_OR_RETURN(const Layout layout, LayoutOf(buffer, size));
  if (layout.header > 0) filled = 0;
  buffer.resize(1 << 18);
  int64_t place = 0;
  bool any = false;
  std::vector<int32_t> piece;
  const auto flush = [&](bool end) -> Status {
    if (!piece.empty()) {
      any = true;
      GYRE_RETURN_IF_ERROR(
          sink->Add({reinterpret_cast<const char*>(piece.data()), piece.size() * sizeof(int32_t)}));
      piece.clear();
    }
    if (!end || !any) return OkStatus();
    any = false;
    return sink->End();
  };
  for (bool ended = false; !ended;) {
    GYRE_ASSIGN_OR_RETURN(const size_t got,
                          file->ReadFull(buffer.data() + filled, buffer.size() - filled));
    filled += got;
    ended = filled < buffer.size();
    on_piece();
    for (size_t at = 0; at + layout.id_bytes <= filled; at += layout.id_bytes, ++place) {
      uint32_t id = 0;
      std::memcpy(&id, buffer.data() + at, layout.id_bytes);
      if (id >= static_cast<uint32_t>(ids)) {
        return InvalidArgument("the id at place " + std::to_string(place) + " is " +
                               std::to_string(id) + ", and the tokenizer has " +
                               std::to_string(ids) + " ids");
      }
      if (static_cast<int32_t>(id) == document_start) {
        GYRE_RETURN_IF_ERROR(flush(/*end=*/true));
      } else {
        piece.push_back(static_cast<int32_t>(id));
      }
    }
    filled = 0;
    GYRE_RETURN_IF_ERROR(flush(/*end=*/false));
  }
  return flush(/*end=*/true);
}

}  // namespace gyre
