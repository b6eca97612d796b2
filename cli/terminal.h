#pragma once

// What stands at the other end of an output stream.

namespace gyre {

struct Terminal {
  bool interactive = false;  // a terminal on which lines can be redrawn: a TTY that is not "dumb"
  int width = 0;             // columns; 0 = no limit (a pipe or a file without COLUMNS)
  int height = 0;            // lines; 0 = no limit
};

/// Of STDOUT_FILENO or STDERR_FILENO, at this moment (a window may be resized). COLUMNS and LINES
/// win over the terminal.
Terminal TerminalOf(int fd);

}  // namespace gyre
