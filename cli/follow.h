#pragma once

// Following sweeps to their end, for `gyre run`, `gyre submit --watch` and `gyre watch`.

#include <stop_token>
#include <string>
#include <vector>

#include "cli/progress_display.h"
#include "cli/sweep_client.h"

namespace gyre {

/// Shows progress until every sweep has ended or has paused itself (then their last status, in the
/// order of `names`) or `stop` is requested (CANCELLED). No names: all sweeps there are and those
/// that come, until `stop`. A connection that breaks is made again, and no event is missed. Other
/// errors end it.
Result<std::vector<SweepStatus>> FollowSweeps(SweepSource& source,
                                              const std::vector<std::string>& names,
                                              ProgressDisplay& display, std::stop_token stop);

}  // namespace gyre
