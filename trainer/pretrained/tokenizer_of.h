#pragma once

// The tokenizer that a pretrained model comes with.

#include <filesystem>
#include <memory>
#include <string>

#include "base/status.h"
#include "trainer/data/tokenizer.h"
#include "trainer/pretrained/gguf_file.h"

namespace gyre {

/// Of a folder: its tokenizer.model (SentencePiece), else its tokenizer.json (byte-level BPE). Of a
/// GGUF file: its own, if it is a byte-level BPE. Of any other file, and of a GGUF file with
/// another kind: tokenizer.model or tokenizer.json beside it. NOT_FOUND: there is none;
/// INVALID_ARGUMENT: none that can be read; UNIMPLEMENTED: not in this build.
Result<std::unique_ptr<Tokenizer>> TokenizerOf(const std::filesystem::path& model);

/// The tokenizer that `data.tokenizer` names: OpenTokenizerFile(), and of a .gguf TokenizerOf().
Result<std::unique_ptr<Tokenizer>> OpenNamedTokenizer(const std::string& path);

/// The vocabulary of that. As above.
Result<int> NamedVocabulary(const std::string& path);

/// A GGUF file's tokenizer as a tokenizer.json. INVALID_ARGUMENT: none, or of a kind or with a
/// pre-tokenizer (tokenizer.ggml.model, tokenizer.ggml.pre) that is not known here.
Result<std::string> TokenizerJsonOf(const GgufFile& file);

}  // namespace gyre
