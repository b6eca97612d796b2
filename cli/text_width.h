#pragma once

// Text as it stands on a terminal: how many columns it takes (CJK takes two, combining marks none),
// and made safe: names come from files, and a name must not move the cursor.

#include <string>
#include <string_view>
#include <vector>

namespace gyre {

/// Control characters and bytes that are no UTF-8 become visible, "\x1b"; all else stays.
std::string Visible(std::string_view text);

/// Columns of a Visible() text.
int DisplayWidth(std::string_view text);

/// `text`, or as much of its beginning as fits in `width` columns with "…" after it.
std::string Shorten(std::string_view text, int width);

/// Filled up with spaces to `width` columns; longer text stays as it is.
std::string PadRight(std::string text, int width);
std::string PadLeft(std::string text, int width);

/// Broken at spaces into lines of at most `width` columns (longer words stay whole); 0 = one line.
/// Lines after the first begin with `indent` spaces.
std::string Wrap(std::string_view text, int width, int indent);

}  // namespace gyre
