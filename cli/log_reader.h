#pragma once

// A job's log from first to last, attempt by attempt, with a line in front of each that says where
// and how it ran.

#include <functional>
#include <stop_token>
#include <string_view>

#include "base/clock.h"
#include "cli/job_client.h"

namespace gyre {

struct LogOptions {
  bool follow = false;  // go on, through new attempts too, until the job has ended
  int attempt = 0;      // only this one; 0 = all
  int lines = 0;        // of each attempt, only its last ones; 0 = all
  Millis look_every{500};
};

/// Gives the text to `write` piece by piece. `say` hears what is no part of the log: that the
/// connection was lost (when following, it is made again and nothing is missed or doubled).
/// NOT_FOUND: no such job or attempt. CANCELLED: `stop` was requested.
Status ReadLogs(JobSource& source, int64_t job, const LogOptions& options,
                const std::function<void(std::string_view)>& write,
                const std::function<void(const std::string&)>& say, std::stop_token stop);

}  // namespace gyre
