#pragma once

// Byte-level BPE, as of GPT-2, Llama 3, Qwen and SmolLM: text is cut into pieces (pre_tokenizer.h),
// the bytes of each piece are merged (byte_pairs.h). A byte that the vocabulary has no token for
// (some vocabularies lack those that no text has) becomes U+FFFD; all else comes back.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "trainer/data/tokenizer.h"

namespace gyre {

struct ByteLevelModel {
  std::vector<std::string> bytes_of;  // by id; empty: none
  /// By rank: left, right, what they become.
  std::vector<std::array<int32_t, 3>> merges;
  std::vector<std::string> patterns;
  /// Tokens that are recognised in the text before anything else; the longest at a place counts.
  std::vector<std::pair<std::string, int32_t>> added;
  bool whole_pieces = false;  // a piece that is a token needs no merges (ignore_merges)
  int32_t document_start = 0;
  std::string identity, content;  // as Tokenizer::identity(), model()
};

/// INVALID_ARGUMENT: no tokens for U+FFFD where bytes are missing, or a pattern at fault.
Result<std::unique_ptr<Tokenizer>> MakeByteLevelTokenizer(ByteLevelModel model);

}  // namespace gyre
