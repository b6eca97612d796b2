#pragma once

// Which jobs have no hope. Pure functions over curves of losses; lower is better, and what is not
// finite is worst.
//
// A job is judged beside the jobs of its seed: they began with the same weights and have seen the
// same batches, so that what is told apart is the variants. It is judged at every new value of its
// own, by whoever has come as far as it by then, and never before `grace` tokens:
//   asha    The places are grace, grace x reduction, grace x reduction^2, ... tokens. At the last
//           one that it has reached, a job has to be among the best one in `reduction` of those
//           that have reached it, too; the best always goes on, and nobody is judged until
//           `reduction` jobs are there (asynchronous successive halving: Li et al.,
//           arXiv:1810.05934).
//   median  The job's best value so far has to be no worse than the median of what the others had
//           on average until the same number of tokens, from grace on (the median stopping rule of
//           Google Vizier); nobody is judged until two others are there.
// Who decides what comes of it: coordinator/stopping.cc.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "sweeps/spec/sweep_spec.h"

namespace gyre {

/// Values by tokens; NaN and infinities where they are not finite.
using Curve = std::map<int64_t, double>;

/// Why the job whose curve is `own` ends now, in words; empty: it goes on.
std::string WhyStopEarly(const StopEarlyRule& rule, const Curve& own,
                         const std::vector<const Curve*>& others);

/// As the database keeps it; empty = no rule. DATA_LOSS: it is none.
std::string StopEarlyToJson(const std::optional<StopEarlyRule>& rule);
Result<std::optional<StopEarlyRule>> StopEarlyFromJson(const std::string& text);

}  // namespace gyre
