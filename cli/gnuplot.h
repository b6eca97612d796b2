#pragma once

// Pictures through gnuplot: a child process without a shell, the script on its stdin, the picture
// from its stdout. It reads and writes no file.

#include <string>

#include "base/status.h"
#include "results/plots/plot.h"

namespace gyre {

/// The bytes of the picture; SVG is text that can stand in an HTML page as it is.
/// FAILED_PRECONDITION: there is no gnuplot, and what to install. INTERNAL: it did not take the
/// script; with its words.
Result<std::string> DrawPicture(const Plot& plot, PictureFormat format);

}  // namespace gyre
