#pragma once

// Where a byte-level BPE cuts text before it merges: patterns, one after the other, each cutting
// the pieces of the one before into what it matches and what lies between ("Isolated" in a
// tokenizer.json). What matches is PCRE2's business; a build without it has no such tokenizers
// (no_pre_tokenizer.cc).

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace gyre {

class PreTokenizer {
 public:
  /// INVALID_ARGUMENT: a pattern that is none, or looks back (then a cut text would have other
  /// pieces). UNIMPLEMENTED: this build has no patterns.
  static Result<std::unique_ptr<PreTokenizer>> Create(const std::vector<std::string>& patterns);
  virtual ~PreTokenizer() = default;

  /// Appends the lengths of the pieces that `text` begins with and that what follows cannot change;
  /// with `last`, of all. Returns their sum. `text` is valid UTF-8. One thread at a time.
  virtual size_t Split(std::string_view text, bool last, std::vector<size_t>* lengths) = 0;
};

}  // namespace gyre
