#pragma once

// What should happen now: which leases are over, which jobs ran for too long, which workers are
// gone, and who gets which job. A pure function of a view and a time; it performs nothing, and
// whatever it does not answer does not happen. The coordinator carries the decisions out and asks
// again, so one pass never sees its own effects: a lease that expires in this pass frees its job
// for the next one.
//
// Who is next (fair_share.h): sweeps of the highest priority; of those the submitter whose jobs use
// least at this moment, of his sweeps the one that uses least; inside a sweep by job id, which is
// seed by seed, so that whole comparisons appear early. Of several offers one on a GPU is taken
// first.
//
// A job gets all that it needs at once, of one offer, or nothing: it never holds a part and waits
// for the rest. The first job that no offer has room for, and some worker has when less runs on it,
// gets a reservation there (reservation.h); others pass it, on that worker only with what does not
// delay it. A job that no worker could ever take holds up nobody.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/clock.h"
#include "coordinator/lifecycle.h"
#include "sweeps/spec/sweep_spec.h"

namespace gyre {

/// The queued jobs of one sweep.
struct QueueView {
  int64_t sweep = 0;
  int priority = 0;
  SweepIntent intent = SweepIntent::kActive;
  Resources needs;                                     // of each of its jobs
  const std::set<int64_t>* ready = nullptr;            // never null
  const std::map<int64_t, Millis>* delayed = nullptr;  // job -> not before; never null
  /// Of some jobs, the workers that they go to only where no other could take them; may be null.
  const std::map<int64_t, std::set<int64_t>>* avoided = nullptr;
  int submitter = 0;
  // Places in the order of grants so far, the later the larger; 0 = none yet.
  int64_t served = 0, submitter_served = 0;
  std::optional<Millis> expected;  // how long one of its jobs runs; absent = not known
};

/// A live attempt.
struct LeaseView {
  int64_t job = 0;
  int attempt = 0;
  Millis expires_at{0};
  std::optional<Millis> lost_at;       // absent: it is not suspected
  std::optional<Millis> times_out_at;  // absent: no time limit, or it was told to stop already
  int64_t sweep = 0, worker = 0;
  int submitter = 0;
  Resources needs;
  int gpus_taken = 0;             // that nobody else can have alone; those it shares, too
  std::optional<Millis> ends_at;  // as it goes now; absent = not known
};

/// A worker that waits for a job, or gives up the place of one that has ended for the next.
struct OfferView {
  int64_t offer = 0;
  int64_t worker = 0;
  int slots = 0, cpus = 0;
  int64_t memory_bytes = 0;      // 0 = not known: then it may be enough
  Millis ends_at{0};             // when it wants an answer
  int gpus = 0;                  // that no job is on
  int64_t gpu_memory_bytes = 0;  // of the smallest of them; 0 = not known
  bool on_gpu = false;           // where a job that asks for none would train
  bool in_place = false;         // of an attempt that has just ended: its worker may have more
};

/// A worker that is not known to be gone.
struct WorkerView {
  int64_t worker = 0;
  Millis silent_at{0};     // when it has been silent for too long
  bool takes_work = true;  // false: something keeps it from working
  OfferView whole;         // what it would offer if nothing ran on it
};

struct SchedulerView {
  std::vector<QueueView> queues;  // in any order
  std::vector<LeaseView> leases;
  std::vector<WorkerView> workers;
  std::vector<OfferView> offers;    // first come, first served
  std::optional<int64_t> reserved;  // the job that a place was kept for when last decided
};

struct Grant {
  int64_t offer = 0;
  int64_t job = 0;
  friend bool operator==(const Grant&, const Grant&) = default;
};

/// The place that is kept for the first job that waits for room.
struct Reservation {
  int64_t job = 0;
  int64_t worker = 0;
  std::optional<Millis> starts_at;  // absent: nobody knows when what runs there ends
  friend bool operator==(const Reservation&, const Reservation&) = default;
};

struct EndedLease {
  int64_t job = 0;
  int attempt = 0;
  friend bool operator==(const EndedLease&, const EndedLease&) = default;
};

struct Decisions {
  std::vector<EndedLease> suspected;  // the lease has run out
  std::vector<EndedLease> expired;    // suspected for too long: the attempt is LOST
  std::vector<EndedLease> timed_out;  // its worker is told to stop
  std::vector<int64_t> gone;          // workers
  std::vector<Grant> grants;          // one a job, one an offer
  std::vector<int64_t> unanswered;    // offers whose wait is over
  std::optional<Reservation> reservation;
  std::optional<Millis> next;  // when time alone will change the decisions; absent = never
  friend bool operator==(const Decisions&, const Decisions&) = default;
  /// Whether carrying these out changes what is to be decided at the same time.
  bool ChangesLeases() const { return !expired.empty() || !suspected.empty(); }
};

Decisions Decide(const SchedulerView& view, Millis now);

/// Whether one job with these needs fits into an offer.
bool Fits(const Resources& needs, const OfferView& offer);

}  // namespace gyre
