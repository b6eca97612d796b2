#pragma once

// Where text may be cut so that the cuts follow from the text alone, however it arrives.

#include <cstddef>
#include <string_view>

namespace gyre {

/// A longer chunk is cut, between characters.
inline constexpr size_t kMaxChunkBytes = 4096;

/// Length of the chunk that `text` begins with: spaces and the word after them up to the next space
/// or line end, or line ends; with `whole_lines`, a line or line ends. 0: what follows could still
/// belong to it (never with `last`, unless the text is empty).
size_t NextChunk(std::string_view text, bool last, bool whole_lines);

/// Length of the valid UTF-8 character (no surrogate, no overlong form) that `text` begins with; 0:
/// none.
size_t Utf8Character(std::string_view text);

}  // namespace gyre
