#pragma once

// A cluster in one thread: the real coordinator, scheduler and store; a fake clock, network, disk
// and workers. One seed decides everything, so a failing seed is replayed by running it again.
//
// Workers behave as worker/ does: an agent that registers, sends heartbeats and asks for work, and
// an attempt's thread that reports in order, each call sent again until it is answered. What can
// go wrong:
//   the network      loses, delays, doubles and reorders; workers are cut off, in one direction or
//                    both, one or all of them
//   the coordinator  is killed; is busy for a while, then hears all at once; a second one starts on
//                    the same file while the first goes on; its file is replaced by a backup
//   the machine      loses its power; comes up with another monotonic clock; somebody sets its wall
//                    clock, forward or back
//   the disk         is full for a while; fails single operations (failing_disk.h)
//   workers          are killed, with or without their last reports on disk, which the next process
//                    delivers; are stopped for a while, and go on as if nothing had happened
//   trainers         fail, run out of memory
//   a person         pauses, resumes, cancels and retries the sweep and its jobs, submits it again,
//                    and in the end wants all of it
// Seeds take turns in the rule that stops jobs early: none, asha, median.
//
// Files: simulation.cc is the world, simulation_workers.cc what workers do, simulation_checks.cc
// what has to hold.

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "coordinator/coordinator.h"
#include "tests/coordinator/failing_disk.h"

namespace gyre {

class Simulation {
 public:
  /// In an empty folder.
  Simulation(uint64_t seed, std::filesystem::path folder);
  ~Simulation();

  /// Until every job has ended. Empty, or what went wrong.
  std::string Run();

  /// How often what happened, by its name.
  std::map<std::string, int> happened;

 private:
  struct Happening {
    Millis at{0};
    int64_t order = 0;
    std::function<void()> happen;
    bool operator>(const Happening& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  struct FakeWorker {
    std::string name;
    int generation = 0;    // grows when it is killed
    int64_t attempts = 0;  // taken so far
    bool registered = false;
    Millis not_heard_until{0}, hears_nothing_until{0}, stopped_until{0};
    // The attempt it works on; none: job 0.
    LeaseReply lease;
    int64_t step = 0, reported = 0, sequence = 0;
    bool stop = false;
    bool succeeded = false;          // its outcome is on its way
    std::optional<LeaseReply> left;  // of the process before: the three above are its
    bool delivers = false;           // the lease is of the process before
  };
  /// A thread of a worker: whatever was arranged for it does not happen once it is dead.
  struct Thread {
    int worker = 0;
    int generation = 0;
    int64_t attempt = 0;  // of FakeWorker::attempts; 0 = the agent's
  };
  using Run_ = std::function<Status(const Moment&)>;
  using Answer = std::function<void(const Status&)>;
  /// A call on its way.
  struct Message {
    Run_ run;
    Answer answer;          // to its sender, or DEADLINE_EXCEEDED
    Answer committed = {};  // when the coordinator has done it, whether or not the answer arrives
    /// Answers without waiting for a commit, if it can.
    std::function<std::optional<Status>()> at_once = {};
  };
  /// What the coordinator has said and must not take back.
  struct Promises {
    std::set<std::pair<int64_t, int64_t>> points;  // job, step
    std::set<int64_t> finished;                    // jobs that succeeded
    std::map<int64_t, int> newest_attempt;         // by job
  };

  bool Chance(double probability);
  Millis Between(int64_t low, int64_t high);
  int64_t Dice(int64_t sides) { return Between(0, sides - 1).count(); }
  Moment Now() const;

  // The world.
  void After(Millis delay, std::function<void()> happen);
  void Submit();
  void Execute(const std::vector<Call>& calls);
  void ExecuteOnFormer(std::vector<Call> calls);
  void TakeIn(Call call);
  void CommitSoon(Millis delay);
  void StartCoordinator();
  void KillCoordinator(bool power_fails);
  void Faults();
  void CutOff(int victim);
  void StartSecondCoordinator();
  void BackUp();
  void Restore();
  void EndOfFaults();
  void Person();
  void WantAll();
  /// One call of a person, who is not told if nobody answers.
  bool Ask(Run_ run);
  void Fail(const std::string& what);

  // What has to hold.
  void CheckStep();
  void CheckPromises();
  void CheckEvents();
  void CheckStatistics();
  void CheckJobs();
  void CheckEnd();
  void CheckEarlyStop(int64_t job, bool was_stopping);
  bool AllEnded();
  int64_t Count(const std::string& sql);
  std::string StopReason(int64_t job);
  void Heard(const AttemptRef& attempt) { heard_[{attempt.job, attempt.number}] = now_; }

  // Threads of workers.
  FakeWorker& Of(const Thread& thread) { return workers_[static_cast<size_t>(thread.worker)]; }
  bool IsAlive(const Thread& thread);
  Thread Agent(int worker) { return {worker, workers_[static_cast<size_t>(worker)].generation, 0}; }
  std::string Incarnation(const Thread& thread);
  AttemptRef Ref(const Thread& thread);
  void Later(const Thread& thread, Millis delay, std::function<void()> happen);
  /// Through the network, once: the answer may never come, then DEADLINE_EXCEEDED does.
  void Send(const Thread& thread, const Message& message);
  /// Again and again until something other than "send again" is answered.
  void Insist(const Thread& thread, const Message& message);

  // What workers do.
  void KillWorker(int worker);
  void StartWorker(int worker);
  void Register(const Thread& agent);
  void Beat(const Thread& agent);
  void Obey(const Thread& agent, const HeldAttempt& held, WorkerDesire desire);
  void AskForWork(const Thread& agent);
  void TakeLease(const LeaseReply& lease);
  void Begin(const Thread& agent, const LeaseReply& lease);
  void Reattach(const Thread& agent);
  void Train(const Thread& thread);
  void Report(const Thread& thread);
  Status RunReport(const ReportPointsCall& call, const Moment& at);
  void Save(const Thread& thread, bool weights_only, std::function<void()> then);
  void Finish(const Thread& thread, AttemptOutcome outcome, const std::string& error = "",
              const std::string& code = "");
  void Drop(FakeWorker& worker) { worker.lease = {}; }

  std::mt19937_64 random_;
  const std::filesystem::path database_, backup_;
  FailingDisk& disk_ = FailingDisk::Get();
  std::optional<StopEarlyRule> rule_;
  Millis now_{1000}, boot_{0}, wall_skew_{0};
  int64_t order_ = 0, offers_ = 0, checked_writes_ = -1, checked_event_ = 0;
  std::priority_queue<Happening, std::vector<Happening>, std::greater<>> happenings_;
  std::unique_ptr<Coordinator> coordinator_, former_;
  int starts_ = 0;     // of coordinators
  int timelines_ = 0;  // grows when a backup is restored
  std::string why_not_started_;
  std::vector<Call> inbox_;  // what the coordinator has not yet looked at
  bool commits_soon_ = false;
  Millis busy_until_{0};
  std::vector<FakeWorker> workers_;
  std::set<std::string> objects_, objects_at_backup_;  // on the disk that all share
  Promises promises_, promises_at_backup_;
  int64_t event_at_backup_ = 0;
  bool has_backup_ = false;
  std::map<std::pair<int64_t, int>, Millis> heard_;  // of a job's attempt, last
  bool wants_all_ = false;                           // the person has said so, and was heard
  std::string failure_;
};

/// Of a job that goes all the way.
inline constexpr int64_t kSimulatedSteps = 6;
/// What an undisturbed run gives.
double SimulatedValue(int64_t job, int64_t step);

}  // namespace gyre
