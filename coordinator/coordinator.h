#pragma once

// The meaning of every call: what a submission queues, what a report changes, what a silent worker
// costs. It knows no wire, no thread and no clock: calls come in as closures and times as
// arguments, so that tests and the simulation drive it as the server does.
//
// Everything happens in Execute: one transaction runs the calls that have come in, lets the
// scheduler decide, and commits; only then are they answered. A call that returns an error has
// changed nothing. If the transaction fails (a full disk), memory is built anew from the file and
// each call is run once more in a transaction of its own, so that only those that cannot succeed
// are refused, with UNAVAILABLE or the store's error; `run` must therefore be repeatable.
//
// One thread at a time; commit_loop.h is that thread.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "coordinator/calls.h"
#include "coordinator/explain_job.h"
#include "coordinator/lease_board.h"
#include "coordinator/retry.h"
#include "coordinator/scheduler.h"
#include "coordinator/state.h"
#include "coordinator/store/store.h"
#include "coordinator/submission.h"
#include "coordinator/timing.h"

namespace gyre {

/// One call: `run` makes its changes, `done` answers it after the commit.
struct Call {
  std::function<Status(const Moment&)> run;
  std::function<void(const Status&)> done;
  bool reads = false;  // changes nothing: answered also while nothing can be committed
  size_t bytes = 0;    // of a report: it goes after what is none, and so many bytes at a time
};

/// Hears of what can be watched. Called from the coordinator's thread; must not wait.
class CommitListener {
 public:
  virtual ~CommitListener() = default;
  virtual void OnCommitted(int64_t last_event_id) = 0;
  virtual void OnProgress(const RunningJobReply& job) = 0;
};

/// Where the answer to AcquireLease goes: a lease, or none for "ask again".
using LeaseAnswer = std::function<void(const std::optional<LeaseReply>&)>;

class Coordinator {
 public:
  /// Reads the database. `listener` may be null.
  static Result<std::unique_ptr<Coordinator>> Open(std::unique_ptr<Store> store,
                                                   const Timing& timing, CommitListener* listener,
                                                   const Moment& at);

  /// Runs the calls and whatever is due at this time. Answers when to come back though nobody
  /// calls.
  std::optional<Millis> Execute(const std::vector<Call>& calls, const Moment& at);

  /// OK, or why the last transaction that changed something could not be committed.
  const Status& health() const { return health_; }
  const Store& store() const { return *store_; }
  /// Heartbeats may be answered from here by any thread; then Execute has to come soon.
  LeaseBoard& board() { return board_; }
  /// The random id of this start on this database: in every lease.
  const std::string& epoch() const { return epoch_; }
  int64_t last_event_id() const { return last_event_id_; }

  // Calls, inside `run`. Codes: the .proto.
  Result<std::vector<SubmitReply>> Submit(const PreparedSubmission& submission, const Moment& at);
  Result<int> CancelSweep(const std::string& name, const Moment& at);
  Result<int> CancelJob(int64_t job_id, const Moment& at);
  Result<TargetReply> Pause(const Target& target, const Moment& at);
  Result<TargetReply> Resume(const Target& target, const Moment& at);
  Result<TargetReply> Retry(const Target& target, const Moment& at);
  Result<int64_t> FindSweepId(const std::string& name);
  Result<SweepReply> GetSweep(const std::string& name);
  Result<JobReply> GetJob(int64_t id, const Moment& at);
  std::vector<SweepReply> ListSweeps();  // without running jobs and failures
  ClusterReply GetCluster();

  Result<RegisterReply> Register(const RegisterCall& call, const Moment& at);
  /// `answer` is called once, after a commit, unless the call is refused or withdrawn. `offer` is
  /// the caller's name for the question.
  Status Acquire(int64_t offer, const AcquireCall& call, LeaseAnswer answer, const Moment& at);
  /// The worker does not wait any longer; `answer` will not be called.
  void Withdraw(int64_t offer);
  Result<HeartbeatReply> Heartbeat(const HeartbeatCall& call, const Moment& at);
  Result<int64_t> ReportPoints(const ReportPointsCall& call, const Moment& at);
  Result<ObsoleteObjects> ReportCheckpoint(const ReportCheckpointCall& call, const Moment& at);
  Result<ObsoleteObjects> FinishAttempt(const FinishAttemptCall& call, const Moment& at);
  /// The same, and where the call wants it and the attempt ends by it, the next lease in its place
  /// in the same transaction: `answer` is called before the call's own, with a lease or none, or,
  /// if there is nothing to ask for or the call is refused, not at all.
  Result<ObsoleteObjects> FinishAttempt(const FinishAttemptCall& call, int64_t offer,
                                        LeaseAnswer answer, const Moment& at);
  /// Of an attempt that a call was refused for with FAILED_PRECONDITION.
  Superseded WhySuperseded(const AttemptRef& attempt);

  /// Whether a checkpoint, or a job that has not succeeded, refers to this object.
  Result<bool> NeedsObject(const std::string& hash) { return store_->NeedsObject(hash); }
  /// FAILED_PRECONDITION unless the attempt, live or ended, is that incarnation's.
  Status CheckLogWriter(const AttemptRef& attempt);
  /// NOT_FOUND: no such job or attempt.
  Status CheckAttempt(int64_t job, int attempt);

  /// Answers every waiting AcquireLease without a lease: the coordinator stops.
  void ReleaseOffers();

  /// Re-derives every invariant between memory and database; for tests. INTERNAL names the first
  /// that is broken.
  Status CheckInvariants();

 private:
  struct Offer {
    int64_t worker = 0;
    AcquireCall call;
    LeaseAnswer answer;
    Millis ends_at{0};
    bool in_place = false;  // of an attempt that ends in this transaction
    bool is_new = true;     // made in this transaction
    bool settled = false;   // in this transaction: granted, or its wait is over
    std::optional<LeaseReply> lease;
  };

  struct StaleCall {
    int64_t job = 0;
    int64_t attempt = 0;
    const char* call = "";
  };

  Coordinator(std::unique_ptr<Store> store, const Timing& timing, CommitListener* listener);

  // coordinator.cc
  Status Reload(const Moment& at);
  Status Transact(const std::vector<Call>& calls, const Moment& at, std::vector<Status>* results,
                  Decisions* decisions);
  Status Abandon(const Status& status, const Moment& at);
  Status CarryOut(const Moment& at, Decisions* decisions);
  Status TakeBeats(const Moment& at);
  void Publish();
  void PublishAll();
  void Publish(const JobEntry& job);

  // placement.cc
  SchedulerView View(const Moment& at);
  LeaseView ViewOf(const JobEntry& job, const Moment& at);
  OfferView ViewOf(int64_t id, const Offer& offer, int64_t bytes_in_places);
  std::map<int64_t, int64_t> MemoryInPlaces() const;  // by worker
  int64_t MemoryLeft(const WorkerEntry& worker, const std::string& device);
  void SettleOffers(bool committed);

  // moves.cc: the changes that everything else is made of.
  struct EventAbout {
    const JobEntry* job = nullptr;
    std::optional<int64_t> sweep = std::nullopt, attempt = std::nullopt, worker = std::nullopt;
    Json details = Json::object();
  };
  Status Note(const char* kind, EventAbout about, const Moment& at);
  Status MoveJob(JobEntry& job, JobStep step, const std::string& error, Millis pause,
                 const Moment& at);
  struct AttemptEnding {
    AttemptStep step = AttemptStep::kLose;
    std::string code = "", error = "";
    bool is_strike = true;  // of a loss: whether it counts against the job
  };
  static AttemptEnding Lost(std::string why);
  Status EndAttempt(JobEntry& job, const AttemptEnding& ending, const Moment& at);
  Status AfterAttempt(JobEntry& job, const EndedAttempt& ended, bool timed_out, const Moment& at);
  Result<Strikes> StrikesOf(const JobEntry& job);
  std::string MemoryNumbers(const AttemptRecord& attempt);
  Status PauseIfAllFailAlike(SweepEntry& sweep, const JobEntry& failed, const Moment& at);
  Status GrantJob(int64_t offer, int64_t job_id, const Moment& at);
  Status MarkGone(WorkerEntry& worker, const Moment& at);
  Status StartAttempt(JobEntry& job, const Moment& at);

  // workers.cc
  Result<WorkerEntry*> KnownWorker(const std::string& incarnation);
  Status Heard(WorkerEntry& worker, const Moment& at);
  void EndOffersOf(const WorkerEntry& worker, bool in_place);  // those, too
  Result<WorkerDesire> DesireFor(const WorkerEntry& worker, const HeldAttempt& held,
                                 const Moment& at);

  // leases.cc
  Result<JobEntry*> Fenced(const AttemptRef& attempt, const char* call, const Moment& at);
  bool Holds(const WorkerEntry& worker, const AttemptRef& attempt);
  WorkerDesire DesireOf(const JobEntry& job);
  Status Suspect(JobEntry& job, const Moment& at);
  Status HeardOf(JobEntry& job, const Moment& at);
  Status TakeOver(const WorkerEntry& worker, const LeftAttempt& left,
                  const std::string& incarnation, const Moment& at);

  // attempts.cc
  Status CheckSequence(const LiveAttempt& live, int64_t sequence) const;
  Result<bool> IsRepeated(const FinishAttemptCall& call);
  std::optional<AcquireCall> PlaceOf(const AttemptRef& attempt);

  // stopping.cc
  Status JudgeEarly(JobEntry& job, const std::vector<PointRecord>& points, const Moment& at);

  // submit.cc
  Result<bool> IsSame(const SweepEntry& sweep, const PreparedSweep& prepared);
  bool HasResults(const SweepEntry& sweep);
  SubmitReply CountJobs(const SweepEntry& sweep);
  Result<SubmitReply> Attach(SweepEntry& sweep, const PreparedSweep& prepared, const Moment& at);
  Result<std::string> Replace(SweepEntry& sweep, const Moment& at);
  Result<SubmitReply> Insert(const PreparedSweep& prepared, bool fresh, const Moment& at);
  Status InsertJobs(const PreparedSweep& prepared, int64_t sweep_id,
                    const std::vector<int64_t>& variants, bool fresh, const Moment& at);

  // intent.cc
  Result<int> CancelJobs(SweepEntry& sweep, const Moment& at);
  Result<int> CancelOne(JobEntry& job, const Moment& at);
  bool IsPaused(const JobEntry& job);
  Result<SweepEntry*> NamedSweep(const std::string& name);
  Result<JobEntry*> NamedJob(int64_t id, const char* verb);
  Result<TargetReply> PauseSweep(const std::string& name, const Moment& at);
  Result<TargetReply> PauseJob(int64_t id, const Moment& at);
  Result<TargetReply> ResumeSweep(const std::string& name, const Moment& at);
  Result<TargetReply> ResumeJob(int64_t id, const Moment& at);
  Result<TargetReply> RetrySweep(const std::string& name, const Moment& at);
  Result<TargetReply> RetryJob(int64_t id, const Moment& at);
  Status HoldSweep(SweepEntry& sweep, const std::string& reason, const Moment& at);
  TargetReply CountUnfinished(const SweepEntry& sweep);
  Result<bool> MakeActive(SweepEntry& sweep, const Moment& at);
  Result<int> ReviveJobs(SweepEntry& sweep, const Moment& at);
  Result<int> Revive(JobEntry& job, const Moment& at);

  // inspect_job.cc
  WaitingFacts WaitingFactsOf(const JobEntry& job, const Moment& at);
  Status AddWarnings(const JobEntry& job, JobReply* reply);
  std::string WhyItRuns(const JobEntry& job, const Moment& at);
  Result<std::string> WhyNotAgain(const JobEntry& job, const std::vector<AttemptReply>& attempts);

  // inspect.cc
  SweepReply Describe(const SweepEntry& sweep, bool with_jobs);
  RunningJobReply DescribeRunning(const JobEntry& job);
  Status NoSuchSweep(const std::string& name);
  std::string Problem() const;

  const std::unique_ptr<Store> store_;
  const Timing timing_;
  CommitListener* const listener_;
  const std::string epoch_;
  State state_;
  std::map<int64_t, Offer> offers_;  // by id, which is by age
  std::set<std::string> replaced_incarnations_;
  std::optional<Reservation> reservation_;  // as the scheduler last said
  int64_t last_event_id_ = 0;
  // Of this transaction.
  std::vector<RunningJobReply> progress_;
  std::vector<StaleCall> stale_calls_;
  std::set<int64_t> touched_jobs_, touched_sweeps_;  // that an event was about
  LeaseBoard board_;
  Status health_;
  bool is_stale_ = false;  // memory is not what the file says: read it before anything else
};

}  // namespace gyre
