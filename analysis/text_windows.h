#pragma once

// Which windows of a text are looked at: evenly spaced ones of those that are full, as statistics
// of training take them (docs/statistics.md). Pure.

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/forward_pass.h"
#include "base/status.h"

namespace gyre {

/// At most `most` windows of `context` tokens. With a `document_start` (-1: none) each begins with
/// it and predicts its piece of the text, which then is its targets; else each is the text's own
/// tokens, of which each predicts its successor. A text that is shorter than a window is one
/// window. INVALID_ARGUMENT: it has fewer than two tokens, or one outside a vocabulary of
/// `vocab_size`.
Result<std::vector<TokenWindow>> CutWindows(std::span<const int32_t> text, int32_t document_start,
                                            int vocab_size, int context, int most);

}  // namespace gyre
