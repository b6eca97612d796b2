#pragma once

// Text to token ids and back. Nothing is lost: the bytes of the ids, one after the other, are the
// text, whatever it is (but for bytes that a byte-level BPE has no token for).
//
//   bytes           ids 0-255 are the bytes themselves, 256 is the start of a document
//   SentencePiece   sentencepiece.h
//   tokenizer.json  byte-level BPE: tokenizer_json.h
//   ids             the text is ids already: 32 bits each, little-endian (token_file.h)

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace gyre {

/// One thread drives a tokenizer: it may remember what it has seen.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// What the hash of a data set has for it: equal identities, equal ids for equal text.
  virtual std::string identity() const = 0;
  virtual int vocab_size() const = 0;
  virtual int32_t document_start() const = 0;
  /// Appends the ids of the longest beginning of `text` that what follows cannot change, and
  /// returns its length; with `last`, of everything. So a text may come in pieces, cut anywhere,
  /// and has the same ids. Without a document start.
  virtual size_t Encode(std::string_view text, bool last, std::vector<int32_t>* ids) = 0;
  /// The bytes that an id stands for; none for the document start and other marks.
  virtual std::string_view BytesOf(int32_t id) const = 0;
  /// What has to be kept to have the same tokenizer again (tokenizer.model of a data set); empty if
  /// the identity says it all.
  virtual std::string_view model() const { return {}; }
  /// Whether the ids have text behind them: losses per byte make no sense where they don't.
  virtual bool has_bytes() const { return true; }
};

/// A larger file is no tokenizer.
inline constexpr size_t kMaxTokenizerModelBytes = size_t{64} << 20;

std::unique_ptr<Tokenizer> MakeByteTokenizer();

/// Of ids 0 .. ids-1. Without a `document_start` (-1) one is added to the vocabulary.
std::unique_ptr<Tokenizer> MakeIdTokenizer(int ids, int document_start);

/// The tokenizer with this identity; `model` is the content of its tokenizer.model. DATA_LOSS: they
/// don't belong together; UNIMPLEMENTED: this build does not have it.
Result<std::unique_ptr<Tokenizer>> TokenizerWithIdentity(const std::string& identity,
                                                         const std::string& model);

}  // namespace gyre
