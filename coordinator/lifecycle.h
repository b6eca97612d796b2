#pragma once

// The three state machines, as pure functions: what may become what, and why. Each has one writer:
// the coordinator moves jobs and attempts, the user moves a sweep's intent. Whatever is not in a
// table here is refused with FAILED_PRECONDITION, so an illegal transition is an error and never a
// silent overwrite.
//
// Kinds of events (the column events.kind, and Event.kind on the wire):
//   coordinator_started
//   sweep_submitted  sweep_attached  sweep_replaced  sweep_canceled  sweep_paused (with "reason" if
//   it did so itself)  sweep_resumed  sweep_retried  sweep_finished (every job has ended)
//   job_requeued  job_succeeded  job_failed  job_canceled  job_cancel_requested
//   job_stop_requested  job_stopped_early (both with "reason")  job_paused
//   job_resumed
//   attempt_leased (the job is RUNNING)  attempt_running  attempt_succeeded  attempt_failed
//   attempt_lost  attempt_stopped  attempt_suspected (its lease has run out; it is LOST after a
//   grace)  attempt_back (it was suspected)  attempt_reattached (a new process of its worker has it
//   now, and delivers what the old one could not)  checkpoint_saved  checkpoint_dropped (it is
//   damaged; the one before is taken)  nondeterminism  stale_call_refused
//   worker_registered  worker_gone  worker_back

#include <string_view>

#include "base/status.h"

namespace gyre {

enum class JobState { kQueued, kRunning, kSucceeded, kFailed, kStoppedEarly, kCanceled };
enum class AttemptState { kLeased, kRunning, kSucceeded, kFailed, kLost, kStopped };
enum class SweepIntent { kActive, kPaused, kCanceled };

/// As the database and the wire spell them, e.g. "STOPPED_EARLY".
std::string_view Name(JobState state);
std::string_view Name(AttemptState state);
std::string_view Name(SweepIntent intent);
/// DATA_LOSS for a word that is none of them.
Result<JobState> ParseJobState(std::string_view name);
Result<AttemptState> ParseAttemptState(std::string_view name);
Result<SweepIntent> ParseSweepIntent(std::string_view name);

/// What happens to a job.
enum class JobStep {
  kLease,      // QUEUED -> RUNNING
  kRequeue,    // RUNNING -> QUEUED: the attempt was lost, stopped, or failed with tries left
  kSucceed,    // RUNNING -> SUCCEEDED
  kFail,       // RUNNING -> FAILED
  kStopEarly,  // RUNNING -> STOPPED_EARLY
  kCancel,     // QUEUED or RUNNING -> CANCELED
  kRevive,     // FAILED or CANCELED -> QUEUED: submitted again, or retried
};
Result<JobState> Next(JobState from, JobStep step);

/// What happens to an attempt.
enum class AttemptStep {
  kStart,    // LEASED -> RUNNING: its worker holds it
  kSucceed,  // these four from LEASED or RUNNING
  kFail,
  kLose,
  kStop,
};
Result<AttemptState> Next(AttemptState from, AttemptStep step);

enum class SweepStep { kPause, kResume, kCancel };
/// Repeating a step changes nothing and is no error.
Result<SweepIntent> Next(SweepIntent from, SweepStep step);

inline bool HasEnded(JobState state) {
  return state != JobState::kQueued && state != JobState::kRunning;
}
inline bool HasEnded(AttemptState state) {
  return state != AttemptState::kLeased && state != AttemptState::kRunning;
}

}  // namespace gyre
