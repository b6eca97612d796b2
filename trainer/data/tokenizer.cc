#include "trainer/data/tokenizer.h"

namespace gyre {
namespace {

class ByteTokenizer : public Tokenizer {
 public:
  std::string identity() const override { return "bytes"; }
  int vocab_size() const override { return 257; }
  int32_t document_start() const override { return 256; }
  void Encode(std::string_view text, std::vector<int32_t>* ids) const override {
    for (const char c : text) ids->push_back(static_cast<unsigned char>(c));
  }
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::Create(const Json& tokenizer) {
  if (tokenizer.is_null() || tokenizer == "bytes") {
    return std::unique_ptr<Tokenizer>(std::make_unique<ByteTokenizer>());
  }
  return Unimplemented(
      "data.tokenizer: " + tokenizer.dump(-1, ' ', false, Json::error_handler_t::replace) +
      " is not yet supported; use bytes");
}

}  // namespace gyre
