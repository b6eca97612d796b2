#include "cli/progress_display.h"

#include <unistd.h>

namespace gyre {

ProgressDisplay::ProgressDisplay() : terminal_(TerminalOf(STDERR_FILENO)) {}

ProgressDisplay::~ProgressDisplay() { Clear(); }

int ProgressDisplay::width() {
  terminal_ = TerminalOf(STDERR_FILENO);
  // The last column stays free: some terminals wrap as soon as it is written.
  return terminal_.width - 1;
}

int ProgressDisplay::height() { return terminal_.height - 1; }

void ProgressDisplay::Print(const std::string& line) {
  std::fputs(Redraw(drawn_, drawn_, {line}).c_str(), stderr);
  std::fflush(stderr);
}

void ProgressDisplay::Draw(const std::vector<std::string>& lines) {
  if (!terminal_.interactive || lines == drawn_) return;
  std::fputs(Redraw(drawn_, lines, {}).c_str(), stderr);
  std::fflush(stderr);
  drawn_ = lines;
}

std::string Redraw(const std::vector<std::string>& drawn, const std::vector<std::string>& lines,
                   const std::vector<std::string>& printed) {
  constexpr char kClearToEndOfLine[] = "\x1b[K";
  constexpr char kClearBelow[] = "\x1b[J";
  const std::string clear = drawn.empty() ? "" : kClearToEndOfLine;
  std::string text;
  if (!drawn.empty()) text += "\x1b[" + std::to_string(drawn.size()) + "A\r";
  for (const std::string& line : printed) text += line + clear + "\n";
  for (const std::string& line : lines) text += line + clear + "\n";
  if (lines.size() + printed.size() < drawn.size()) text += kClearBelow;
  return text;
}

}  // namespace gyre
