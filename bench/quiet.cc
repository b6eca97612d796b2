#include "bench/quiet.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "bench/step_server.h"

namespace gyre {

Result<MachineSeconds> ParseProcStat(const std::string& text) {
  // proc(5): cpu user nice system idle iowait irq softirq steal ..., in ticks
  std::istringstream words(text);
  std::string name;
  double user, nice, system, idle, io_wait, irq, soft_irq, steal;
  words >> name >> user >> nice >> system >> idle >> io_wait >> irq >> soft_irq >> steal;
  if (!words || name != "cpu") return DataLoss("/proc/stat does not begin with a line 'cpu'");
  const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  return MachineSeconds{(user + nice + system + irq + soft_irq + steal) * tick,
                        (idle + io_wait) * tick};
}

double ForeignShare(const MachineSeconds& before, const MachineSeconds& after, double own) {
  const double busy = after.busy - before.busy;
  const double all = busy + after.idle - before.idle;
  return all > 0 ? std::max(0.0, busy - own) / all : 1;
}

MachineSeconds QuietGate::Now() const {
  // Not ReadFile(): the size of a file in /proc is 0.
  std::ifstream file("/proc/stat");
  std::string line;
  std::getline(file, line);
  const auto seconds = ParseProcStat(line);
  return seconds.ok() ? *seconds : MachineSeconds{};
}

bool QuietGate::Wait(double deadline) const {
  if (!enabled_) return false;
  do {
    const MachineSeconds before = Now();
    std::this_thread::sleep_for(std::chrono::duration<double>(kLookSeconds));
    if (ForeignShare(before, Now(), 0) < 1 - kIdleShare) return true;
  } while (WallSeconds() < deadline);
  return false;
}

}  // namespace gyre
