#pragma once

// What an attempt comes to whose trainer has ended without saying so. Killed from outside (KILL,
// TERM, INT, HUP) is LOST, unless the kernel has killed for want of memory meanwhile; that and
// every other signal or exit is FAILED, with the trainer's last words; killed by this worker after
// it would not stop is STOPPED. Pure.

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "worker/child_process.h"
#include "worker/coordinator_client.h"

namespace gyre {

struct TrainerEnd {
  std::string who = "the trainer";
  ChildEnd how;
  std::string last_lines;          // of its log
  bool memory_was_short = false;   // the kernel has killed while it ran
  std::optional<Millis> given_up;  // told to stop, and killed after this time
};

struct TrainerVerdict {
  Outcome outcome = Outcome::kFailed;
  Status error;
};
TrainerVerdict Judge(const TrainerEnd& end);

}  // namespace gyre
