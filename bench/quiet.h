#pragma once

// Whether a measurement was disturbed. /proc/stat counts what all processors did; what our own
// process did not do, others did, and time that the machine's owner took away (steal) counts as
// theirs too.

#include <string>

#include "base/status.h"

namespace gyre {

/// Seconds since the machine started, summed over processors.
struct MachineSeconds {
  double busy = 0, idle = 0;
};

/// From the text of /proc/stat. DATA_LOSS: not such a text.
Result<MachineSeconds> ParseProcStat(const std::string& text);

/// The share of the machine, 0..1, that others used between two readings while we used `own`
/// seconds of processor time.
double ForeignShare(const MachineSeconds& before, const MachineSeconds& after, double own);

class QuietGate {
 public:
  static constexpr double kIdleShare = 0.9;      // before a sample, over kLookSeconds
  static constexpr double kForeignShare = 0.08;  // during one
  static constexpr double kLookSeconds = 0.3;

  /// `enabled` false: nothing is waited for and nothing is called quiet.
  explicit QuietGate(bool enabled) : enabled_(enabled) {}

  bool enabled() const { return enabled_; }
  /// True once the machine was idle; false if it was not by `deadline` (WallSeconds()).
  bool Wait(double deadline) const;
  /// All zeros where the system does not say, which makes nothing quiet.
  MachineSeconds Now() const;

 private:
  bool enabled_;
};

}  // namespace gyre
