#include "trainer/data/tokenizer.h"

#include <array>
#include <charconv>
#include <cstring>

#include "trainer/data/sentencepiece.h"
#include "trainer/data/tokenizer_json.h"

namespace gyre {
namespace {

constexpr std::string_view kIds = "ids:";

class ByteTokenizer : public Tokenizer {
 public:
  ByteTokenizer() {
    for (size_t b = 0; b < bytes_.size(); ++b) bytes_[b] = static_cast<char>(b);
  }
  std::string identity() const override { return "bytes"; }
  int vocab_size() const override { return 257; }
  int32_t document_start() const override { return 256; }
  size_t Encode(std::string_view text, bool, std::vector<int32_t>* ids) override {
    for (const char c : text) ids->push_back(static_cast<unsigned char>(c));
    return text.size();
  }
  std::string_view BytesOf(int32_t id) const override {
    if (id < 0 || id > 255) return {};
    return {&bytes_[static_cast<size_t>(id)], 1};
  }

 private:
  std::array<char, 256> bytes_;
};

class IdTokenizer : public Tokenizer {
 public:
  IdTokenizer(int ids, int document_start)
      : ids_(ids), document_start_(document_start < 0 ? ids : document_start) {}
  std::string identity() const override {
    return std::string(kIds) + std::to_string(ids_) + ":" + std::to_string(document_start_);
  }
  int vocab_size() const override { return document_start_ == ids_ ? ids_ + 1 : ids_; }
  int32_t document_start() const override { return document_start_; }
  size_t Encode(std::string_view text, bool, std::vector<int32_t>* ids) override {
    const size_t count = text.size() / sizeof(int32_t), at = ids->size();
    ids->resize(at + count);
    std::memcpy(ids->data() + at, text.data(), count * sizeof(int32_t));
    return count * sizeof(int32_t);
  }
  std::string_view BytesOf(int32_t) const override { return {}; }
  bool has_bytes() const override { return false; }

 private:
  int ids_, document_start_;
};

}  // namespace

std::unique_ptr<Tokenizer> MakeByteTokenizer() { return std::make_unique<ByteTokenizer>(); }

std::unique_ptr<Tokenizer> MakeIdTokenizer(int ids, int document_start) {
  return std::make_unique<IdTokenizer>(ids, document_start);
}

Result<std::unique_ptr<Tokenizer>> TokenizerWithIdentity(const std::string& identity,
                                                         const std::string& model) {
  if (identity == "bytes") return MakeByteTokenizer();
  if (identity.starts_with(kIds)) {
    int ids = 0, document_start = 0;
    const char* end = identity.data() + identity.size();
    const auto [colon, fault] = std::from_chars(identity.data() + kIds.size(), end, ids);
    if (fault == std::errc() && colon != end &&
        std::from_chars(colon + 1, end, document_start).ptr == end) {
      return MakeIdTokenizer(ids, document_start);
    }
  }
  if (identity.starts_with(kSentencePieceIdentity)) {
    GYRE_ASSIGN_OR_RETURN(auto tokenizer, OpenSentencePiece(model, "tokenizer.model"));
    if (tokenizer->identity() == identity) return tokenizer;
    return DataLoss("tokenizer.model is not the one that the data set was made with");
  }
  if (identity.starts_with(kTokenizerJsonIdentity)) {
    GYRE_ASSIGN_OR_RETURN(auto tokenizer, OpenTokenizerJson(model, "tokenizer.model"));
    if (tokenizer->identity() == identity) return tokenizer;
    return DataLoss("tokenizer.model is not the one that the data set was made with");
  }
  return DataLoss("there is no tokenizer '" + identity + "'");
}

}  // namespace gyre
