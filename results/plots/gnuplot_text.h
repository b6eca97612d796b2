#pragma once

// Text and numbers as gnuplot reads them, and how much room text takes. Whatever a text holds, it
// stays text: every byte that could mean something to gnuplot (quotes, `, @, $, \) is written as
// \ooo.

#include <string>
#include <string_view>
#include <vector>

namespace gyre {

/// In double quotes. Control characters become spaces, what is no UTF-8 becomes "?".
std::string GnuplotText(std::string_view text);

/// The same for the label of a tic, which gnuplot takes for a format: % is doubled.
std::string GnuplotTic(std::string_view text);

/// The shortest decimal that reads back as the same double; "NaN" where it is not finite.
std::string GnuplotNumber(double value);

/// About how wide the text is in a sans-serif font of this size, in the size's unit.
double TextWidth(std::string_view text, double font_size);

/// The text, or as much of it as fits with "…" at its end.
std::string FitText(std::string_view text, double width, double font_size);

/// Lines of at most `width`, broken at spaces; the last of `max_lines` is cut with "…".
std::vector<std::string> WrapText(std::string_view text, double width, double font_size,
                                  int max_lines);

}  // namespace gyre
