#include "cli/progress_display.h"

#include <algorithm>

#include "cli/text_width.h"

namespace gyre {
namespace {

constexpr char kBeginFrame[] = "\x1b[?2026h";
constexpr char kEndFrame[] = "\x1b[?2026l";

}  // namespace

ProgressDisplay::ProgressDisplay(std::FILE* stream)
    : stream_(stream), terminal_(TerminalOf(fileno(stream))) {}

ProgressDisplay::~ProgressDisplay() { Clear(); }

int ProgressDisplay::width() {
  terminal_ = TerminalOf(fileno(stream_));
  // The last column stays free: some terminals wrap as soon as it is written.
  return terminal_.width - 1;
}

int ProgressDisplay::height() { return terminal_.height - 1; }

void ProgressDisplay::Print(const std::string& line) {
  width();  // what stands there is moved by what the window is now
  Write(drawn_, {line});
}

void ProgressDisplay::Draw(const std::vector<std::string>& lines) {
  if (!terminal_.interactive) return;
  const bool same_window = terminal_.width == drawn_width_ && terminal_.height == drawn_height_;
  if (lines == drawn_ && same_window) return;
  Write(lines, {});
}

void ProgressDisplay::Write(const std::vector<std::string>& lines,
                            const std::vector<std::string>& printed) {
  const int columns = terminal_.width < drawn_width_ ? terminal_.width : 0;
  std::string text = Redraw(drawn_, lines, printed, columns);
  if (terminal_.interactive) text = kBeginFrame + text + kEndFrame;
  std::fputs(text.c_str(), stream_);
  std::fflush(stream_);
  drawn_ = lines;
  drawn_width_ = terminal_.width;
  drawn_height_ = terminal_.height;
}

std::string Redraw(const std::vector<std::string>& drawn, const std::vector<std::string>& lines,
                   const std::vector<std::string>& printed, int columns) {
  constexpr char kClearToEndOfLine[] = "\x1b[K";
  constexpr char kClearBelow[] = "\x1b[J";
  size_t rows = 0;
  for (const std::string& line : drawn) {
    const int wrapped = columns > 0 ? (DisplayWidth(line) + columns - 1) / columns : 1;
    rows += static_cast<size_t>(std::max(1, wrapped));
  }
  const std::string clear = drawn.empty() ? "" : kClearToEndOfLine;
  std::string text;
  if (rows > 0) text += "\x1b[" + std::to_string(rows) + "A\r";
  // Remainders of lines that were wrapped stand beside the new ones, too.
  if (rows > drawn.size()) text += kClearBelow;
  for (const std::string& line : printed) text += line + clear + "\n";
  for (const std::string& line : lines) text += line + clear + "\n";
  if (lines.size() + printed.size() < rows) text += kClearBelow;
  return text;
}

}  // namespace gyre
