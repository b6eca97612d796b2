#pragma once

// Single keys from the terminal while something is watched. Where standard input is no terminal, or
// this process is not in its foreground, it does nothing. The terminal is as it was when the object
// ends.

#include <termios.h>

#include <functional>
#include <optional>
#include <thread>

namespace gyre {

class KeyInput {
 public:
  /// `on_quit` is called, from another thread, when q is pressed.
  explicit KeyInput(std::function<void()> on_quit);
  ~KeyInput();
  KeyInput(const KeyInput&) = delete;
  KeyInput& operator=(const KeyInput&) = delete;

 private:
  std::optional<termios> before_;  // absent: nothing was changed
  std::jthread thread_;
};

}  // namespace gyre
