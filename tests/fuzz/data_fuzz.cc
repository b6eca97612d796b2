// Training data from elsewhere: files of token ids, packed files, and the JSON beside a data set.
// The first byte says which.

#include <algorithm>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/fuzz/fuzz.h"
#include "trainer/data/byte_stream.h"
#include "trainer/data/dataset.h"
#include "trainer/data/document_reader.h"
#include "trainer/data/inflate.h"
#include "trainer/data/token_file.h"

namespace gyre {
namespace {

class Bytes : public ByteStream {
 public:
  explicit Bytes(std::string_view content) : content_(content) {}
  Result<size_t> Read(char* to, size_t size) override {
    const size_t taken = std::min(size, content_.size() - position_);
    std::memcpy(to, content_.data() + position_, taken);
    position_ += taken;
    return taken;
  }
  uint64_t position() const override { return position_; }

 private:
  std::string_view content_;
  size_t position_ = 0;
};

class Sink : public DocumentSink {
 public:
  Status Add(std::string_view piece) override {
    Require(!piece.empty() && piece.size() % 4 == 0, "pieces are ids of four bytes");
    bytes += piece.size();
    return OkStatus();
  }
  Status End() override { return OkStatus(); }
  size_t bytes = 0;
};

void Tokens(std::string_view content) {
  Bytes file(content);
  Sink sink;
  const Status read = ReadTokenFile(&file, content.size(), 300, 256, &sink, [] {});
  Require(sink.bytes <= 2 * content.size(), "no more ids than the file has");
  (void)read.ok();
}

void Unpack(Result<std::unique_ptr<ByteStream>> stream) {
  if (!stream.ok()) return;
  char buffer[4096];
  for (int blocks = 0; blocks < 4096; ++blocks) {
    const Result<size_t> got = (*stream)->Read(buffer, sizeof buffer);
    if (!got.ok() || *got == 0) return;
  }
}

void Described(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_discarded()) (void)DatasetInfoFromJson(json).ok();
  const auto request = DatasetRequest::FromKey(text);
  if (request.ok()) Require(DatasetRequest::FromKey(request->Key()).ok(), "a key reads back");
}

}  // namespace
}  // namespace gyre

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view content(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      gyre::Tokens(content);
      break;
    case 1:
      gyre::Unpack(gyre::Gunzip(std::make_unique<gyre::Bytes>(content)));
      break;
    case 2:
      gyre::Unpack(gyre::Unzstd(std::make_unique<gyre::Bytes>(content)));
      break;
    case 3:
      (void)gyre::Inflate(content, 1 << 20).ok();
      break;
    default:
      gyre::Described(std::string(content));
  }
  return 0;
}
