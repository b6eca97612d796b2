#pragma once

// The durations of the lease protocol. Tests and fault drills make them short; everybody else keeps
// them.

#include "base/clock.h"

namespace gyre {

struct Timing {
  Millis heartbeat{3000};
  Millis lease{12000};
  /// How long an attempt is suspected before it is LOST: its worker may yet be heard of.
  Millis suspect_grace{12000};
  /// What a lease that is found at a coordinator's start gets at first: its worker may need to
  /// reconnect.
  Millis first_grace{24000};
  /// The longest that AcquireLease waits.
  Millis longest_wait{30000};
};

/// The time as the coordinator gets it: `now` for durations, `wall` for the database and for
/// people.
struct Moment {
  Millis now{0};
  Millis wall{0};
};

}  // namespace gyre
