#pragma once

// A coordinator in memory: hands out the leases it was given, keeps what it is told, and fails as
// it is told to.

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "worker/coordinator_client.h"

namespace gyre {

class FakeCoordinator {
 public:
  struct Record {
    std::vector<PointBatch> batches;
    std::vector<CheckpointReport> checkpoints;
    std::optional<AttemptEnd> end;
    std::string device;  // that was leased
    std::string log;     // as far as it has come

    std::vector<int64_t> Steps() const {
      std::vector<int64_t> steps;
      for (const auto& batch : batches) {
        for (const auto& point : batch.points) steps.push_back(point.step);
      }
      return steps;
    }
  };

  /// A job whose trainer follows `script` (a JSON list), see fake_trainer.cc.
  void Offer(int64_t job_id, const std::string& script, int cpus = 1) {
    Change([&] {
      offers_.push_back({.attempt = {job_id, 1},
                         .sweep = "s",
                         .variant = "v",
                         .job = "{\"script\": " + script + "}",
                         .cpus = cpus});
    });
  }
  void OfferLease(Lease lease) {
    Change([&] { offers_.push_back(std::move(lease)); });
  }
  /// The same, but only in the place of one that ends.
  void OfferInPlace(int64_t job_id, const std::string& script) {
    Change([&] {
      in_place_.push_back({.attempt = {job_id, 1},
                           .sweep = "s",
                           .variant = "v",
                           .job = "{\"script\": " + script + "}",
                           .device = "cpu"});
    });
  }

  /// What the next call of that name gets instead of being heard: "Register", "ReportPoints", ...
  void Fail(const std::string& call, Status status, int times = 1) {
    Change([&] {
      failures_[call].insert(failures_[call].end(), static_cast<size_t>(times), std::move(status));
    });
  }
  /// From now on calls of that name are heard.
  void Recover(const std::string& call) {
    Change([&] { failures_.erase(call); });
  }
  /// How long ReportPoints asks to wait before the next batch.
  void SetPause(Millis pause) {
    Change([&] { pause_ = pause; });
  }
  /// The next call of that name is heard, and its answer is lost.
  void LoseAnswer(const std::string& call) {
    Change([&] { ++lost_[call]; });
  }
  void Wish(AttemptId attempt, Desire desire) {
    Change([&] { desires_[attempt] = desire; });
  }
  void SetObsolete(std::vector<std::string> hashes) {
    Change([&] { obsolete_ = std::move(hashes); });
  }

  /// False if `condition` (called under the lock) does not come true within 20 s.
  bool Await(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), condition);
  }
  bool AwaitEnd(int64_t job_id) {
    return Await([&] { return records_[job_id].end.has_value(); });
  }
  bool AwaitPoint(int64_t job_id) {
    return Await([&] { return !records_[job_id].batches.empty(); });
  }
  bool AwaitCheckpoint(int64_t job_id) {
    return Await([&] { return !records_[job_id].checkpoints.empty(); });
  }
  /// That many calls of that name in all.
  bool AwaitCalls(const std::string& name, int count) {
    return Await([&] { return calls_[name] >= count; });
  }
  bool AwaitHeld(const std::function<bool(const std::vector<HeldLease>&)>& wanted) {
    return Await([&] { return wanted(held_); });
  }
  /// For conditions of Await().
  const Record& Seen(int64_t job_id) { return records_[job_id]; }
  Record Get(int64_t job_id) {
    const std::lock_guard lock(mutex_);
    return records_[job_id];
  }
  std::vector<HeldLease> Held() {
    const std::lock_guard lock(mutex_);
    return held_;
  }
  int Calls(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return calls_[name];
  }
  Registration LastRegistration() {
    const std::lock_guard lock(mutex_);
    return registration_;
  }

  /// What the last heartbeat said keeps the worker from working.
  bool AwaitProblem(const std::function<bool(const std::string&)>& wanted) {
    return Await([&] { return wanted(problem_); });
  }
  /// The name of its folder of objects, told to those who register.
  void SetStore(const std::string& store) {
    Change([&] { store_ = store; });
  }

  std::unique_ptr<CoordinatorClient> Client();

 private:
  friend class FakeClient;

  template <typename F>
  void Change(F change) {
    const std::lock_guard lock(mutex_);
    change();
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Lease> offers_, in_place_;
  std::map<int64_t, Record> records_;
  std::map<std::string, std::deque<Status>> failures_;
  std::map<std::string, int> lost_, calls_;
  std::map<AttemptId, Desire> desires_;
  std::vector<HeldLease> held_;
  std::vector<std::string> obsolete_;
  Registration registration_;
  std::string problem_, store_;
  Millis pause_{0};
};

class FakeClient : public CoordinatorClient {
 public:
  explicit FakeClient(FakeCoordinator& coordinator) : c_(coordinator) {}

  Result<Registered> Register(const Registration& registration, std::stop_token) override {
    GYRE_RETURN_IF_ERROR(Hear("Register", [&] { c_.registration_ = registration; }));
    Registered registered{1, Millis(20), Millis(1000), c_.store_, "epoch", {}};
    const std::lock_guard lock(c_.mutex_);
    for (const LeftBehind& left : registration.left) {
      const auto desire = c_.desires_.find(left.attempt);
      registered.left.push_back(
          {left.attempt, desire == c_.desires_.end() ? Desire::kContinue : desire->second, "over"});
    }
    return registered;
  }

  Result<std::optional<Lease>> AcquireLease(const Capacity& capacity, Millis wait,
                                            std::stop_token stop) override {
    std::optional<Lease> lease;
    std::unique_lock lock(c_.mutex_);
    c_.changed_.wait_for(lock, stop, wait, [&] {
      return !c_.offers_.empty() || !c_.failures_["AcquireLease"].empty();
    });
    if (stop.stop_requested()) return Cancelled("stopped");
    lock.unlock();
    GYRE_RETURN_IF_ERROR(Hear("AcquireLease", [&] {
      if (c_.offers_.empty()) return;
      Lease& next = c_.offers_.front();
      const auto gpus = static_cast<size_t>(next.gpus);
      if (next.cpus > capacity.free_cpus || gpus > capacity.free_gpus.size()) return;
      if (gpus == 0) next.device = capacity.device;
      for (size_t i = 0; i < gpus; ++i) {
        next.device = (i > 0 ? next.device + "," : "") + capacity.free_gpus[i];
      }
      c_.records_[next.attempt.job_id].device = next.device;
      lease = next;
      c_.offers_.pop_front();
    }));
    return lease;
  }

  Result<HeartbeatAnswer> Heartbeat(const std::vector<HeldLease>& held, const std::string& problem,
                                    std::stop_token) override {
    HeartbeatAnswer answer{.epoch = "epoch"};
    GYRE_RETURN_IF_ERROR(Hear("Heartbeat", [&] {
      c_.problem_ = problem;
      c_.held_ = held;
      for (const auto& [attempt, desire] : c_.desires_) {
        answer.desires.push_back({attempt, desire, "over"});
      }
    }));
    return answer;
  }

  Result<Millis> ReportPoints(const PointBatch& batch, std::stop_token) override {
    Millis pause{0};
    GYRE_RETURN_IF_ERROR(Hear("ReportPoints", [&] {
      auto& batches = c_.records_[batch.attempt.job_id].batches;
      if (batch.sequence == static_cast<int64_t>(batches.size()) + 1) batches.push_back(batch);
      pause = c_.pause_;
    }));
    return pause;
  }

  Result<std::vector<std::string>> ReportCheckpoint(const CheckpointReport& report,
                                                    std::stop_token) override {
    GYRE_RETURN_IF_ERROR(Hear("ReportCheckpoint", [&] {
      c_.records_[report.attempt.job_id].checkpoints.push_back(report);
    }));
    const std::lock_guard lock(c_.mutex_);
    return c_.obsolete_;
  }

  Result<Finished> FinishAttempt(const AttemptEnd& end, std::stop_token) override {
    Finished finished;
    GYRE_RETURN_IF_ERROR(Hear("FinishAttempt", [&] {
      std::optional<AttemptEnd>& known = c_.records_[end.attempt.job_id].end;
      const bool repeated = std::exchange(known, end).has_value();
      if (repeated || !end.wants_next || c_.in_place_.empty()) return;
      finished.next = c_.in_place_.front();
      c_.in_place_.pop_front();
    }));
    return finished;
  }

  Status AppendLog(const LogChunk& chunk, std::stop_token) override {
    return Hear("AppendLog", [&] {
      std::string& log = c_.records_[chunk.attempt.job_id].log;
      const auto offset = static_cast<size_t>(chunk.offset);
      if (log.size() < offset) log.resize(offset, '?');
      log.replace(offset, std::string::npos, chunk.bytes);
    });
  }

 private:
  template <typename F>
  Status Hear(const std::string& call, F take) {
    const std::lock_guard lock(c_.mutex_);
    ++c_.calls_[call];
    c_.changed_.notify_all();
    auto& failures = c_.failures_[call];
    if (!failures.empty()) {
      const Status status = failures.front();
      failures.pop_front();
      return status;
    }
    take();
    if (c_.lost_[call] > 0) {
      --c_.lost_[call];
      return Unavailable("the answer is lost");
    }
    return OkStatus();
  }

  FakeCoordinator& c_;
};

inline std::unique_ptr<CoordinatorClient> FakeCoordinator::Client() {
  return std::make_unique<FakeClient>(*this);
}

}  // namespace gyre
