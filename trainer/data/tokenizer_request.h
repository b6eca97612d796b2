#pragma once

// The tokenizer of a DatasetRequest, as JSON in a request and its key:
//
//   "bytes"
//   "path/to/x.model"                      a SentencePiece model
//   "path/to/tokenizer.json"               a byte-level BPE
//   "path/to/x.gguf"                       the one of a model in GGUF
//   {"train": "bpe", "vocab_size": n, "on": [{"source", "part", "weight"}, ...], "holdout": h}
//                                          trained on a sample of these texts
//   {"ids": n, "document_start": id}       the source is ids already; document_start may be missing
//
// Pure: what a request says, without a look at any file.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "trainer/config/job_config.h"

namespace gyre {

enum class TokenizerKind { kBytes, kModel, kTrained, kIds };  // kModel: a file

/// How the name of a model ends that has a tokenizer in it (trainer/pretrained/tokenizer_of.h).
inline constexpr std::string_view kGgufEnding = ".gguf";

struct TokenizerRequest {
  TokenizerKind kind = TokenizerKind::kBytes;
  std::string path;         // kModel
  int vocab_size = 257;     // kTrained, kIds: the ids without an added document start
  int document_start = -1;  // kIds; -1: one is added
  Json on;                  // kTrained; null: on the text of the request itself
  double holdout = 0;       // kTrained
};

/// INVALID_ARGUMENT: not a tokenizer.
Result<TokenizerRequest> TokenizerRequestFromJson(const Json& json);

/// Whether a text names a tokenizer's file: it ends in .model, .json or .gguf.
bool IsTokenizerFile(std::string_view text);

/// The vocabulary, unless it takes a look at the model's file to know.
std::optional<int> VocabularyOf(const TokenizerRequest& tokenizer);

/// The tokenizer with `change` made to each path in it.
Json TokenizerWithPaths(const Json& tokenizer,
                        const std::function<std::string(const std::string&)>& change);

}  // namespace gyre
