#pragma once

// SentencePiece models: trained here, or given. The one place that knows the library is the module
// gyre-sentencepiece.so, loaded at the first use with symbols of its own: Debian's library brings
// an old copy of protocol buffers along, whose names clash with those of gRPC's in one process. A
// build without the library has no_sentencepiece.cc, in which every call is UNIMPLEMENTED; so has a
// build with sanitizers, which cannot load a module so.
//
// Nothing is lost, whatever the model and the text. The model is used without its normalization (no
// change of characters, no space put in front, no spaces removed), and the text goes through it in
// chunks that follow from the text alone: spaces and the word after them, or line ends. A chunk
// that would not come back byte for byte (invalid UTF-8, a literal U+2581, NUL) is spelled in byte
// pieces.
//
// Ids are the model's own. A model without byte pieces gets 256 of them at the end of the
// vocabulary; a document starts with the model's BOS piece, or, if it has none, with one more id at
// the very end.

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/data/tokenizer.h"

namespace gyre {

/// What the identity of such a tokenizer begins with; the SHA-256 of the model follows.
inline constexpr std::string_view kSentencePieceIdentity = "sentencepiece:";

/// `model` is the content of a .model file; `name` is for messages. INVALID_ARGUMENT: it is not
/// one.
Result<std::unique_ptr<Tokenizer>> OpenSentencePiece(std::string model, const std::string& name);

/// Trains a byte-pair encoding of exactly `vocab_size` ids on lines of text without line ends;
/// lines that are not valid UTF-8 are left out. The same lines give the same model, byte for byte.
/// Id 0 is the unknown piece (never used), 1 begins a document, 2 is unused, 3-258 are the bytes; a
/// line end is always one byte piece. INVALID_ARGUMENT: the text is too small for the vocabulary,
/// or the vocabulary for the text's characters.
Result<std::string> TrainSentencePiece(const std::vector<std::string>& lines, int vocab_size);

/// What the module offers, as the C function gyre_sentencepiece().
struct SentencePieceFunctions {
  Result<std::unique_ptr<Tokenizer>> (*open)(std::string model, const std::string& name);
  Result<std::string> (*train)(const std::vector<std::string>& lines, int vocab_size);
};

}  // namespace gyre
