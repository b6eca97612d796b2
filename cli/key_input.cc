#include "cli/key_input.h"

#include <poll.h>
#include <unistd.h>

#include <utility>

namespace gyre {
namespace {

constexpr int kLookMs = 100;  // for the end

void ReadKeys(const std::stop_token& stop, const std::function<void()>& on_quit) {
  while (!stop.stop_requested()) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, kLookMs) <= 0) continue;
    char key = 0;
    if (read(STDIN_FILENO, &key, 1) != 1) return;
    if (key == 'q' || key == 'Q') on_quit();
  }
}

}  // namespace

KeyInput::KeyInput(std::function<void()> on_quit) {
  termios settings{};
  if (isatty(STDIN_FILENO) != 1 || tcgetpgrp(STDIN_FILENO) != getpgrp() ||
      tcgetattr(STDIN_FILENO, &settings) != 0) {
    return;
  }
  before_ = settings;
  settings.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // signals stay
  tcsetattr(STDIN_FILENO, TCSANOW, &settings);
  thread_ = std::jthread(
      [on_quit = std::move(on_quit)](const std::stop_token& stop) { ReadKeys(stop, on_quit); });
}

KeyInput::~KeyInput() {
  if (before_) tcsetattr(STDIN_FILENO, TCSANOW, &*before_);
}

}  // namespace gyre
