#pragma once

// A worker without a trainer, for measuring coordinators: it registers, takes leases, reports made
// points, says how attempts ended and sends heartbeats, over gRPC on a connection of its own and in
// the order in which `gyre worker` does: an attempt's batches one at a time, its outcome when they
// are in, and with it the slot's next job is asked for; without one, by AcquireLease, one at a
// time.
//
// Threads: everything runs in gRPC's callbacks; no thread of its own, so that thousands fit.

#include <grpcpp/alarm.h>
#include <grpcpp/channel.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "gyre/v1/worker_service.grpc.pb.h"

namespace gyre {

struct LoadOptions {
  std::string coordinator;
  int workers = 1, slots = 2;
  int batches = 0, points = 100;  // of each job; of each batch
  int job_ms = 0;                 // how long a job lasts before it reports
  int64_t jobs = 0;               // ends after so many; 0 = no limit
  double seconds = 0;             // ends after so long; 0 = no limit
  int64_t tokens = 1000;          // that a job says it has trained on
  bool watch = false;             // measures how soon a watcher hears that a job has ended
};

/// What all workers have come to, together.
class LoadCount {
 public:
  void Job() { ++jobs_; }
  void Points(int count) { points_ += count; }
  void Took(const char* call, double ms);
  void Retried() { ++retried_; }
  void Failed(const std::string& why);
  /// Until it comes back as an event.
  void Finishing(int64_t job);
  void Heard(int64_t job);

  int64_t jobs() const { return jobs_; }
  bool failed() const { return failed_; }
  std::string failure() const;  // the first; empty = none
  /// One line of JSON.
  std::string Summary(double seconds) const;

 private:
  std::atomic<int64_t> jobs_{0}, points_{0}, retried_{0};
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<float>> took_;  // ms, by call
  std::string failure_;
  std::unordered_map<int64_t, std::chrono::steady_clock::time_point> finishing_;
};

class SimulatedWorker {
 public:
  SimulatedWorker(const LoadOptions& options, int number, LoadCount* count);
  ~SimulatedWorker();

  void Start();
  /// Asks for no more; jobs come to their end, those that last on at once.
  void Stop();
  /// Nothing is under way any more, after Stop.
  bool Ended() const;

 private:
  struct Job {
    v1::AttemptRef attempt;
    int sequence = 0;    // of the last batch that is in
    bool rests = false;  // until its alarm, or Stop; guarded by mutex_
    grpc::Alarm alarm;
  };
  template <typename Request, typename Response>
  struct Call;

  /// A method of the stub.
  template <typename Request, typename Response>
  using Method = void (v1::WorkerService::Stub::async::*)(grpc::ClientContext*, const Request*,
                                                          Response*,
                                                          std::function<void(grpc::Status)>);

  /// Until it is answered; `waits` = it is withdrawn by Stop.
  template <typename Request, typename Response>
  void Send(const char* name, Method<Request, Response> method, Request request,
            std::function<void(const Response&)> done, bool waits = false);
  void Ask();
  void Leased(const v1::Lease& lease);
  void Report(const std::shared_ptr<Job>& job);
  void Finish(const std::shared_ptr<Job>& job);
  void Beat();
  void After(grpc::Alarm& alarm, int64_t ms, std::function<void()> run);

  const LoadOptions options_;
  const std::string name_, incarnation_;
  LoadCount* const count_;
  const std::unique_ptr<v1::WorkerService::Stub> stub_;
  std::atomic<int> under_way_{0};

  mutable std::mutex mutex_;
  bool stopped_ = false;
  int free_ = 0;
  grpc::ClientContext* asking_ = nullptr;  // of the AcquireLease that waits
  bool asks_ = false;
  int64_t heartbeat_ms_ = 3000;
  grpc::Alarm heartbeat_;
  std::set<std::shared_ptr<Job>> held_;
};

}  // namespace gyre
