#include "tests/emulation/error.h"

#include <cstring>

#include "tests/emulation/block.h"

namespace gyre::emulation {

bool Location::operator==(const Location& other) const {
  return line == other.line && (file == other.file || std::strcmp(file, other.file) == 0);
}

std::string ToString(const Location& location) {
  return std::string(location.file) + ":" + std::to_string(location.line);
}

void Fail(const std::string& what) {
  if (current_thread != nullptr) current_block->FailThread(what);
  throw Error(what);
}

}  // namespace gyre::emulation
