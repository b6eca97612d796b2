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
  /// A newer answer about workers; with `all_sweeps`, sweeps that are not known yet are followed,
  /// too.
  void Refresh(const ClusterStatus& cluster, bool all_sweeps);
  /// True if the event means that the sweep's counts have changed. The line to print for it, if it
  /// is worth one, is appended to `lines`.
  bool OnEvent(const WatchedEvent& event, std::vector<std::string>* lines);

  const std::vector<SweepStatus>& sweeps() const { return sweeps_; }
  bool ended() const;
  /// Nothing more will happen by itself: each has ended or paused itself.
  bool settled() const;
  /// No event is missing that the answers about the sweeps know of.
  bool caught_up() const;
  /// Every event up to this id is in.
  int64_t last_event_id() const { return last_event_id_; }

  /// For each sweep how it stands, its trouble, what runs of it and its failures; then the workers.
  /// Each at most `width` columns wide, at most `height` lines (0 = no limit): of what runs only as
  /// much as fits.
  std::vector<std::string> Lines(int width, int height) const;

  /// A line a sweep, for where nothing can be redrawn.
  std::vector<std::string> Summary() const;

 private:
  struct Section {
    std::vector<std::string> head, jobs, tail;
  };

  const SweepStatus* Find(int64_t sweep_id) const;
  /// The running jobs of a sweep, with their latest progress.
  std::vector<RunningJobStatus> Running(const SweepStatus& sweep) const;
  Section Draw(const SweepStatus& sweep, int width) const;

  std::vector<SweepStatus> sweeps_;
  std::vector<WorkerStatus> workers_;
  std::map<int64_t, RunningJobStatus> progress_;  // by job
  int64_t last_event_id_ = 0;
};

}  // namespace gyre
