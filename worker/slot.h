#pragma once

// One slot: takes a lease, fetches what the job needs, has its trainer run the job, reports what
// comes of it, and is free again, or goes on with the lease that the answer to its outcome brought.
// The trainer is started for the first job and used for the next ones that train on the same
// device; a crash or a kill costs the attempt, not the slot, and so does a failure on a GPU, after
// which the next job gets a new trainer.
//
// A job on several devices has a trainer a device; the slot's own is rank 0, and the others
// (other_ranks.h) live as long as the attempt. One that fails ends the attempt, which says which
// rank it was and why (trainer_end.h); the others are killed at once.
//
// Threads: one of its own follows the attempt from its start to its end and is the one that starts
// trainers. All calls may come from any thread and wait for nothing.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/scratch_folder.h"
#include "worker/coordinator_client.h"
#include "worker/job_files.h"
#include "worker/log_sender.h"
#include "worker/other_ranks.h"
#include "worker/placement.h"
#include "worker/processors.h"
#include "worker/trainer_process.h"
#include "worker/uploader.h"

namespace gyre {

struct SlotOptions {
  std::filesystem::path trainer;
  std::filesystem::path home;             // of logs
  JobFiles* files = nullptr;              // outlives the slot
  std::filesystem::path spools;           // folder of what waits for a coordinator that is away
  int64_t spool_bytes = 0;                // of each attempt
  std::vector<int> processors;            // that jobs get for their own; empty = none do
  std::string affinity;                   // whose jobs stay out of each other's way
  int cpu_ranks = 1;                      // see WorkerOptions
  Millis stop_grace{30000};               // for a trainer told to stop
  Millis exit_grace{2000};                // for one whose input has ended
  std::function<void()> on_free;          // an attempt has ended
  std::function<bool()> may_go_on;        // with the next job; absent = each is asked for anew
  std::function<void()> on_unregistered;  // see uploader.h
  std::function<void()> on_lost_gpu;      // a job found its GPU unavailable; before on_free
};

class Slot {
 public:
  Slot(SlotOptions options, CoordinatorClient& client);
  /// Abandons what runs, ends the trainer.
  ~Slot();

  bool Free() const;
  /// By the attempt that it has.
  std::optional<Occupied> InUse() const;
  /// Of the trainer that is at hand, whether it has a job or not; empty without one.
  std::string TrainerDevice() const;
  std::optional<HeldLease> Held() const;
  /// What keeps its attempt from going on; empty = nothing.
  std::string Problem() const;

  /// The slot must be free.
  void Assign(Lease lease);
  /// Nothing if it has another attempt.
  void Obey(const LeaseDesire& desire);
  /// Has the attempt stop, if there is one: it writes a checkpoint and is reported as STOPPED.
  void StopAttempt();
  /// If it is free, ends its trainer, soon: that holds memory of its GPU even without a job.
  void LeaveDevice();
  /// Kills the trainer, if it still has the job: nothing more is reported about the attempt, and
  /// what is unsent stays on disk for the next process.
  void Abandon();

 private:
  void Run();
  void RunAttempt(const Lease& lease);
  bool WantsNext(const Lease& lease, const AttemptEnd& end) const;
  void GoOnWith(Lease next);
  void AssignLocked(Lease lease) GYRE_REQUIRES(mutex_);
  UploaderOptions Uploads(const AttemptId& attempt);
  AttemptEnd Train(const Lease& lease);
  AttemptEnd NotFetched(const Lease& lease, Status why) const;
  Status Prepare(const Lease& lease);
  Status StartTrainer(std::unique_ptr<TrainerLog> log, const std::string& device);
  Status StartOthers(const Lease& lease);
  void EndOthers();
  Status Command(const Lease& lease);
  void ChooseProcessors(const Lease& lease);
  int WorldOf(const Lease& lease) const { return RanksOf(lease, options_.cpu_ranks); }
  bool Abandoned() const;
  std::filesystem::path LogPath(const Lease& lease) const;
  AttemptEnd Follow(const Lease& lease);
  void Started(const Lease& lease, const TrainerStarted& started);
  bool Take(const Lease& lease, TrainerMessage message, AttemptEnd* end);
  AttemptEnd EndOfTrainer(const Lease& lease);
  AttemptEnd EndOfRank(const Lease& lease, const RankFailure& failure);
  void EndTrainer();
  void KillLocked() GYRE_REQUIRES(mutex_);
  void StopLocked() GYRE_REQUIRES(mutex_);
  void AbandonLocked(bool keep) GYRE_REQUIRES(mutex_);

  const SlotOptions options_;
  CoordinatorClient& client_;
  // Its own thread's, as the next four.
  ProcessorClaim claim_;            // of the attempt at hand
  int64_t memory_kills_ = 0;        // of the machine, when the attempt began
  std::string fingerprint_;         // of the attempt at hand
  std::shared_ptr<LogSender> log_;  // of the attempt at hand
  std::optional<ScratchFolder> rendezvous_;

  mutable Mutex mutex_;
  Condition changed_;
  std::optional<Lease> lease_ GYRE_GUARDED_BY(mutex_);
  Progress progress_ GYRE_GUARDED_BY(mutex_);
  // Of an attempt that has ended, until that is reported.
  std::optional<Outcome> outcome_ GYRE_GUARDED_BY(mutex_);
  // These four are changed by its own thread alone, under the mutex, under which others read them;
  // the analysis has no word for that.
  std::unique_ptr<Uploader> uploader_;
  std::unique_ptr<TrainerProcess> trainer_;
  std::string trainer_device_;
  std::unique_ptr<OtherRanks> others_;             // of an attempt with several ranks
  bool leaves_ GYRE_GUARDED_BY(mutex_) = false;    // the trainer is to end
  bool training_ GYRE_GUARDED_BY(mutex_) = false;  // the trainer has the job: commands make sense
  bool trained_ GYRE_GUARDED_BY(mutex_) = false;   // it had it, and is free for another
  bool stop_wanted_ GYRE_GUARDED_BY(mutex_) = false;
  Millis kill_at_ GYRE_GUARDED_BY(mutex_){0};  // when a trainer told to stop has had its time
  bool checkpoint_wanted_ GYRE_GUARDED_BY(mutex_) = false;
  bool abandoned_ GYRE_GUARDED_BY(mutex_) = false;
  std::stop_source fetching_ GYRE_GUARDED_BY(mutex_);  // of the attempt; no more once it is to stop
  bool closing_ GYRE_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace gyre
