#pragma once

// Sweeps being followed: what is known of them, and how it looks. Pure: events and answers go in,
// lines come out.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/sweep_client.h"

namespace gyre {

class SweepProgress {
 public:
  explicit SweepProgress(std::vector<SweepStatus> sweeps);

  /// A line for each job that runs already, whose start was before the events to come.
  std::vector<std::string> FirstLines() const;
  /// A newer answer about one of the sweeps.
  void Refresh(const SweepStatus& sweep);
  /// True if the event means that the sweep's counts have changed. The line to print for it, if it
  /// is worth one, is appended to `lines`.
  bool OnEvent(const WatchedEvent& event, std::vector<std::string>* lines);

  const std::vector<SweepStatus>& sweeps() const { return sweeps_; }
  bool ended() const;
  /// No event is missing that the answers about the sweeps know of.
  bool caught_up() const;
  /// Every event up to this id is in.
  int64_t last_event_id() const { return last_event_id_; }

  /// A line a sweep and one a running job, each at most `width` columns wide, at most `height`
  /// lines (0 = no limit).
  std::vector<std::string> Lines(int width, int height) const;

 private:
  const SweepStatus* Find(int64_t sweep_id) const;
  /// The running jobs of a sweep, with their latest progress.
  std::vector<RunningJobStatus> Running(const SweepStatus& sweep) const;

  std::vector<SweepStatus> sweeps_;
  std::map<int64_t, RunningJobStatus> progress_;  // by job
  int64_t last_event_id_ = 0;
};

/// "quickstart  4 of 12 done, 1 failed, 2 running, 58.2k tokens/s, ETA 2m 10s", cut at `width`.
std::string SweepLine(const SweepStatus& sweep, const std::vector<RunningJobStatus>& running,
                      int width);

/// "  NoPE seed 2  [#####-----]  41%  loss 2.412  29.1k tokens/s", names in a column of
/// `name_width`, cut at `width`.
std::string JobLine(const RunningJobStatus& job, int name_width, int width);

}  // namespace gyre
