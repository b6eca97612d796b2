#pragma once

// Progress on a stream. On a terminal the lines of SweepProgress stand at the bottom and are
// redrawn in place, a whole frame in one write; lines that stay are printed above them. The size of
// the window is read at every frame, so that it may change at any time. Elsewhere there are only
// lines that stay. One thread.

#include <cstdio>
#include <string>
#include <vector>

#include "cli/terminal.h"

namespace gyre {

class ProgressDisplay {
 public:
  /// Beside a result that standard output is for, progress belongs on stderr; `gyre watch` shows
  /// nothing else.
  explicit ProgressDisplay(std::FILE* stream = stderr);
  /// Clears.
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  bool interactive() const { return terminal_.interactive; }
  /// Columns and lines there are for Draw(), at this moment.
  int width();
  int height();

  /// A line that stays.
  void Print(const std::string& line);
  /// The live lines, in place of those drawn before. Nothing where the stream is not interactive.
  void Draw(const std::vector<std::string>& lines);
  /// Takes the live lines away.
  void Clear() { Draw({}); }

 private:
  void Write(const std::vector<std::string>& lines, const std::vector<std::string>& printed);

  std::FILE* const stream_;
  Terminal terminal_;
  int drawn_width_ = 0, drawn_height_ = 0;  // of the window then
  std::vector<std::string> drawn_;
};

/// What has to be written to a terminal of `columns` (0 = as wide as it was) so that `lines` stand
/// where `drawn` stood, the cursor below them; and `printed` above, if it is not empty. One write,
/// which a terminal that can shows at once (synchronized update), and no line is blank in between,
/// so that nothing flickers. Where the window has become narrower than what was drawn, the terminal
/// has wrapped it, and more rows have to go.
std::string Redraw(const std::vector<std::string>& drawn, const std::vector<std::string>& lines,
                   const std::vector<std::string>& printed, int columns = 0);

}  // namespace gyre
