#pragma once

// Why a job waits, why it ended, and what to do about it, in words: the scheduler's and the retry
// policy's own predicates, said to people. Pure.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coordinator/calls.h"
#include "coordinator/retry.h"

namespace gyre {

/// What decides when a queued job starts.
struct WaitingFacts {
  int64_t job = 0;
  std::string sweep;
  SweepIntent intent = SweepIntent::kActive;
  std::string pause_reason;
  bool paused = false;                 // the job itself
  Millis pause_left{0};                // after a failure
  std::string unfit;                   // why no worker can take it (explain.h); empty = one can
  int ahead = 0;                       // jobs that start before it
  std::string reserved_on;             // the worker that keeps a place for it; empty = none does
  std::optional<Millis> reserved_in;   // until then; absent = not known
  std::set<std::string> avoided;       // nodes that it goes to only where there is no other
  int slots = 0, busy = 0;             // of the workers that are connected
  std::map<std::string, int> running;  // jobs that hold those slots, by sweep
  std::map<std::string, std::string> problems;  // what keeps workers from working, by name
};
std::string WhyItWaits(const WaitingFacts& facts);
std::vector<std::string> WhatToDoWhileItWaits(const WaitingFacts& facts);

/// How a job that has ended came to its end.
struct EndingFacts {
  int64_t job = 0;
  std::string sweep;
  JobState state = JobState::kSucceeded;
  std::string error, stop_reason;
  std::optional<int64_t> diverged_at_step;
  std::optional<AttemptReply> last;  // attempt; none: it never ran
  std::string why_not_again;         // RetryDecision::why_not
};
std::string WhyItEnded(const EndingFacts& facts);
std::vector<std::string> WhatToDoAfter(const EndingFacts& facts);

/// "12 s", "3 min", "2 h".
std::string InWords(Millis duration);

}  // namespace gyre
