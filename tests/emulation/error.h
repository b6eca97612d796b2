#pragma once

// How the emulation says that a program is wrong where a GPU would compute garbage, hang, or fail
// later elsewhere.

#include <stdexcept>
#include <string>

namespace gyre::emulation {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Where a call stands; not std::source_location, which clang 14 cannot compile.
struct Location {
  const char* file = "";
  unsigned line = 0;

  static constexpr Location Here(const char* file = __builtin_FILE(),
                                 unsigned line = __builtin_LINE()) {
    return {file, line};
  }
  bool operator==(const Location& other) const;
};
std::string ToString(const Location& location);

/// Throws Error; within a kernel it ends the launch, from which Error is thrown.
[[noreturn]] void Fail(const std::string& what);

}  // namespace gyre::emulation
