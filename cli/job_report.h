#pragma once

// One job with its attempts, as a coordinator explains it.

#include <cstdint>
#include <string>
#include <vector>

namespace gyre {

struct AttemptReport {
  int number = 0;
  std::string worker, device, state;
  std::string started_at, ended_at;  // UTC, ISO 8601; empty = not yet
  int64_t resumed_from_step = 0;     // 0 = from the start
  std::string error_code, error;
  int64_t peak_memory_bytes = 0;  // 0 = not known
  double tokens_per_second = 0;   // 0 = not known
  std::string after;              // what became of the job then
  std::string
      suspected_at;  // since then its worker is silent beyond its lease; empty = it is heard of

  bool ended() const { return !ended_at.empty(); }
};

struct JobReport {
  int64_t id = 0;
  std::string sweep, variant;
  uint64_t seed = 0;
  std::string state;
  int64_t reused_from = 0;  // 0 = none
  std::string queued_at, ended_at;
  int64_t tokens_done = 0, tokens_budget = 0;
  std::string error;
  std::string why;
  std::vector<std::string> next;  // what to do
  std::vector<AttemptReport> attempts;
  std::vector<std::string> warnings;  // what casts a doubt on its results

  bool ended() const { return state != "QUEUED" && state != "RUNNING"; }
};

}  // namespace gyre
