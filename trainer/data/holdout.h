#pragma once

// Which part of a user's text is held out for validation. Pure: a function of the texts alone, so
// that neither the names nor the order of the files matter, and the same document is never on both
// sides.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

/// For documents given by the SHA-256 of their text: true = held out, for a share of about
/// `holdout` in 0..1. With two or more different documents and 0 < holdout < 1, both sides get at
/// least one.
std::vector<bool> HeldOut(const std::vector<std::string>& hashes, double holdout);

/// Where the last tenth of a text that is a single document begins: after the first line end from
/// 90% to 95%, else at 90%, but never inside a UTF-8 character.
size_t HeldOutTail(std::string_view text);

}  // namespace gyre
