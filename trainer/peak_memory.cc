#include "trainer/peak_memory.h"

#include <fstream>
#include <sstream>
#include <string>

namespace gyre {

void ResetPeakMemory() {
  std::ofstream("/proc/self/clear_refs") << "5\n";  // proc(5): resets VmHWM
}

int64_t PeakMemoryBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("VmHWM:")) continue;
    int64_t kibibytes = 0;
    std::istringstream(line.substr(6)) >> kibibytes;
    return kibibytes * 1024;
  }
  return 0;
}

}  // namespace gyre
