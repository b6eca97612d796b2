#pragma once

// tokenizer.json of Hugging Face's tokenizers, as far as it is a byte-level BPE: merges and
// vocabulary, the patterns of its pre-tokenizers, added tokens, ignore_merges. Text is not
// normalized: one in NFC, as nearly all is, has the ids that Hugging Face gives it, and any text
// comes back as it was. What begins a document is the token that post_processor puts in front, else
// one named as such, else an id added at the end; it is never recognised in text, so that no text
// begins a document by itself. Added tokens that swallow spaces or want to be words are not either.

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "trainer/data/tokenizer.h"

namespace gyre {

/// Identity: this and the SHA-256 of the file.
inline constexpr std::string_view kTokenizerJsonIdentity = "tokenizer.json:";

/// `name` is what the content is called in messages. INVALID_ARGUMENT: not a tokenizer.json, or
/// what in it is not supported (those of SentencePiece's kind have a tokenizer.model beside them).
/// UNIMPLEMENTED: this build has no byte-level BPE.
Result<std::unique_ptr<Tokenizer>> OpenTokenizerJson(std::string content, const std::string& name);

}  // namespace gyre
