#include "trainer/data/rdata.h"

#include <cstdint>
#include <optional>

#include "trainer/data/inflate.h"

namespace gyre {
namespace {

constexpr size_t kMaxBlockBytes = size_t{1} << 28;
constexpr int kCharacterVector = 16;
constexpr int kString = 9;

uint32_t BigEndian(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

// Reads forward; every read says whether there was enough.
class XdrReader {
 public:
  explicit XdrReader(std::string_view bytes) : rest_(bytes) {}

  bool Int(int32_t* value) {
    if (rest_.size() < 4) return false;
    *value = static_cast<int32_t>(BigEndian(rest_));
    rest_.remove_prefix(4);
    return true;
  }
  bool Bytes(int32_t count, std::string_view* bytes) {
    if (count < 0 || rest_.size() < static_cast<size_t>(count)) return false;
    *bytes = rest_.substr(0, static_cast<size_t>(count));
    rest_.remove_prefix(static_cast<size_t>(count));
    return true;
  }
  size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
};

Status Damaged(const char* where) {
  return DataLoss(std::string("an R character vector is damaged: ") + where);
}

// Nothing if the object is of another kind.
Result<std::optional<std::vector<std::string>>> ReadStrings(std::string_view block) {
  using None = std::optional<std::vector<std::string>>;
  XdrReader reader(block);
  std::string_view text;
  if (!reader.Bytes(2, &text) || text != "X\n") return None();
  int32_t version = 0, writer = 0, oldest = 0, flags = 0, count = 0;
  if (!reader.Int(&version) || !reader.Int(&writer) || !reader.Int(&oldest)) return None();
  if (version == 3) {
    int32_t length = 0;
    if (!reader.Int(&length) || !reader.Bytes(length, &text)) return Damaged("its encoding's name");
  } else if (version != 2) {
    return None();
  }
  if (!reader.Int(&flags)) return Damaged("its header");
  if ((flags & 0xff) != kCharacterVector) return None();
  // Each string takes 8 bytes at least, so a count beyond that is damage, not a reason to allocate.
  if (!reader.Int(&count) || count < 0 || static_cast<size_t>(count) > reader.left() / 8) {
    return Damaged("its length");
  }
  std::vector<std::string> strings;
  strings.reserve(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) {
    int32_t length = 0;
    if (!reader.Int(&flags) || (flags & 0xff) != kString || !reader.Int(&length)) {
      return Damaged("the header of one of its strings");
    }
    if (length == -1) {
      strings.emplace_back();
      continue;
    }
    if (!reader.Bytes(length, &text)) return Damaged("one of its strings");
    strings.emplace_back(text);
  }
  return None(std::move(strings));
}

}  // namespace

Result<std::vector<std::vector<std::string>>> ReadRdataStrings(std::string_view rdb) {
  std::vector<std::vector<std::string>> vectors;
  // The index of the blocks is a file of its own (.rdx); we find them by trying, and step over
  // each.
  for (size_t at = 0; at + 5 < rdb.size();) {
    const uint32_t length = BigEndian(rdb.substr(at));
    if (rdb[at + 4] != 0x78 || length > kMaxBlockBytes) {
      ++at;
      continue;
    }
    const Result<Inflated> block = Inflate(rdb.substr(at + 4), length);
    if (!block.ok() || block->bytes.size() != length) {
      ++at;
      continue;
    }
    GYRE_ASSIGN_OR_RETURN(auto strings, ReadStrings(block->bytes));
    if (strings.has_value()) vectors.push_back(*std::move(strings));
    at += 4 + block->consumed;
  }
  if (vectors.empty()) return DataLoss("no R character vector in the file");
  return vectors;
}

}  // namespace gyre
