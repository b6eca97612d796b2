#pragma once

// A cluster in one thread: the real coordinator, scheduler and store; a fake clock, network, disk
// and workers. One seed decides everything, so a failing seed is replayed by running it again.
//
// Workers behave as worker/ does: an agent that registers, sends heartbeats and asks for work, and
// an attempt's thread that reports in order, each call sent again until it is answered. The network
// loses, delays, doubles and reorders; workers and the coordinator are killed; workers are cut off;
// the disk is full for a while. A worker that is killed may have its last reports on disk, which
// the next process delivers. Half of the heartbeats are answered from the board of leases. Trainers
// fail and run out of memory; a person pauses, resumes and retries the sweep and its jobs, and in
// the end wants all of it.

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

namespace gyre {

class Simulation {
 public:
  Simulation(uint64_t seed, std::filesystem::path database);

  /// Until every job has ended. Empty, or what went wrong.
  std::string Run();

  // That the faults did happen.
  int restarts = 0, deaths = 0, cuts = 0, full_disks = 0, resumed = 0, refused = 0;
  int pauses = 0, retried = 0, memory_failures = 0;
  int reattached = 0, suspected = 0, back = 0;

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
    Millis cut_off_until{0};
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

  bool Chance(double probability);
  Millis Between(int64_t low, int64_t high);
  Moment Now() const { return {now_, Millis(1'780'000'000'000) + now_}; }

  // The world.
  void After(Millis delay, std::function<void()> happen);
  void Execute(const std::vector<Call>& calls);
  void StartCoordinator();
  void Faults();
  void Person();
  void WantAll();
  /// One call of a person, who is not told if nobody answers.
  bool Ask(Run_ run);
  void Fail(const std::string& what);
  void CheckStep();
  void CheckStatistics();
  void CheckEnd();
  bool AllEnded();

  // Threads of workers.
  FakeWorker& Of(const Thread& thread) { return workers_[static_cast<size_t>(thread.worker)]; }
  bool IsAlive(const Thread& thread);
  Thread Agent(int worker) { return {worker, workers_[static_cast<size_t>(worker)].generation, 0}; }
  std::string Incarnation(const Thread& thread);
  AttemptRef Ref(const Thread& thread);
  void Later(const Thread& thread, Millis delay, std::function<void()> happen);
  /// Through the network, once: the answer may never come, then DEADLINE_EXCEEDED does.
  void Send(const Thread& thread, Run_ run, Answer answer);
  /// Again and again until something other than "send again" is answered.
  void Insist(const Thread& thread, Run_ run, Answer answer);

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
  void Save(const Thread& thread, bool weights_only, std::function<void()> then);
  void Finish(const Thread& thread, AttemptOutcome outcome, const std::string& error = "",
              const std::string& code = "");
  void Drop(FakeWorker& worker) { worker.lease = {}; }

  std::mt19937_64 random_;
  const std::filesystem::path database_;
  Millis now_{1000};
  int64_t order_ = 0, offers_ = 0, checked_writes_ = -1;
  std::priority_queue<Happening, std::vector<Happening>, std::greater<>> happenings_;
  std::unique_ptr<Coordinator> coordinator_;
  std::vector<FakeWorker> workers_;
  std::set<std::string> objects_;                       // on the disk that all share
  std::set<std::pair<int64_t, int64_t>> acknowledged_;  // points: job, step
  std::set<int64_t> finished_;                          // jobs whose success was acknowledged
  std::map<int64_t, int> newest_attempt_;               // by job
  bool wants_all_ = false;                              // the person has said so, and was heard
  std::string failure_;
};

}  // namespace gyre
