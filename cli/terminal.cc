#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace gyre {
namespace {

constexpr int kUsualWidth = 80, kUsualHeight = 24;
constexpr int kNarrowest = 20;

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// 0 if the variable is no positive number.
int NumberFrom(const char* name) {
  const std::string_view text = Environment(name);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number > 0 ? number : 0;
}

}  // namespace

Terminal TerminalOf(int fd) {
  Terminal terminal;
  const std::string_view type = Environment("TERM");
  const bool tty = isatty(fd) == 1;
  terminal.interactive = tty && !type.empty() && type != "dumb";
  if (tty) {
    winsize size{};
    const bool known = ioctl(fd, TIOCGWINSZ, &size) == 0;
    terminal.width = known && size.ws_col > 0 ? size.ws_col : kUsualWidth;
    terminal.height = known && size.ws_row > 0 ? size.ws_row : kUsualHeight;
    if (const int lines = NumberFrom("LINES")) terminal.height = lines;
  }
  if (const int columns = NumberFrom("COLUMNS")) terminal.width = columns;
  if (terminal.width > 0 && terminal.width < kNarrowest) terminal.width = kNarrowest;
  return terminal;
}

}  // namespace gyre
