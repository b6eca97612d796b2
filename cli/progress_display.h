#pragma once

// Progress on a stream. On a terminal the lines of SweepProgress stand at the bottom and are
// redrawn in place; lines that stay are printed above them. Elsewhere there are only lines that
// stay. One thread.

#include <cstdio>
#include <string>
#include <vector>

#include "cli/terminal.h"

namespace gyre {

class ProgressDisplay {
 public:
  /// Writes to stderr, where progress belongs: standard output is for results.
  ProgressDisplay();
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
  Terminal terminal_;
  std::vector<std::string> drawn_;
};

/// What has to be written to a terminal so that `lines` stand where `drawn` stood, the cursor below
/// them; and `printed` above, if it is not empty. One write, and no line is blank in between, so
/// that nothing flickers.
std::string Redraw(const std::vector<std::string>& drawn, const std::vector<std::string>& lines,
                   const std::vector<std::string>& printed);

}  // namespace gyre
