#pragma once

// Which part of a user's text is held out for validation. Pure: a function of the texts alone, so
// that neither the names nor the order of the files matter, and the same document is never on both
// sides.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

/// The first 64 bits of the SHA-256 (64 hexadecimal digits) of a document: all that the rule needs.
uint64_t HashPrefix(const std::string& sha256);

/// For documents given by the prefixes of their hashes: true = held out, for a share of about
/// `holdout` in 0..1. With two or more different documents and 0 < holdout < 1, both sides get at
/// least one.
std::vector<bool> HeldOut(const std::vector<uint64_t>& hashes, double holdout);

/// Where the last tenth of a text that is a single document of `size` bytes begins: after the first
/// line end from 90% to 95%, else at 90%, but never inside a UTF-8 character. The text comes in
/// pieces.
class HeldOutTail {
 public:
  explicit HeldOutTail(uint64_t size);
  void Add(std::string_view piece);
  /// After the last piece.
  uint64_t cut() const;

 private:
  uint64_t size_, ninety_;
  uint64_t seen_ = 0, line_begin_ = 0;  // line_begin_: 0 = none found
  std::string before_;                  // what stands right before the 90%, and the byte there
};

}  // namespace gyre
