#pragma once

// A coordinator on a temporary database, with a time that tests set, and workers that are a few
// lines of test.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/coordinator.h"
#include "proto/protocol.h"
#include "results/database.h"

namespace gyre {

inline constexpr Millis kStart{1'000'000};
inline constexpr Millis kWallStart{1'780'000'000'000};

/// A sweep called `name` of variants a, b, c, ... with seeds 0, 1, 2, ..., each job with a key of
/// its own.
inline PreparedSweep MakeSweep(const std::string& name, int variants, int seeds) {
  PreparedSweep sweep;
  sweep.record.name = name;
  sweep.record.resolved =
      R"({"sweep":")" + name + "\",\"size\":" + std::to_string(variants * 1000 + seeds) + "}";
  for (int v = 0; v < variants; ++v) {
    PreparedVariant variant;
    variant.record.name = std::string(1, static_cast<char>('a' + v));
    variant.record.config = R"({"model":{"hidden_size":8}})";
    variant.record.train_dataset = "train-hash";
    variant.record.validation_datasets = R"({"austen":"validation-hash"})";
    variant.record.position_type = "rope";
    variant.record.theta = 10000;
    variant.baseline = v == 0 ? -1 : 0;
    variant.parameters = 100;
    variant.tokens_budget = 1000;
    variant.rotation = R"([{"frequencies":[1,0.5],"attention_factor":1}])";
    sweep.variants.push_back(variant);
  }
  for (int seed = 0; seed < seeds; ++seed) {
    for (int v = 0; v < variants; ++v) {
      const std::string key =
          "key-" + sweep.variants[static_cast<size_t>(v)].record.name + std::to_string(seed);
      sweep.jobs.push_back({v, static_cast<uint64_t>(seed), key, std::nullopt});
    }
  }
  return sweep;
}

/// In memory where there is such a place: the tests commit often, and what they look at does not
/// depend on the disk.
inline std::filesystem::path FreshFolder(const std::string& name) {
  const std::filesystem::path memory = "/dev/shm";
  const std::filesystem::path parent =
      access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::path(testing::TempDir());
  const std::filesystem::path folder = parent / ("gyre-" + name + "-" + std::to_string(getpid()));
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

class CoordinatorTest : public testing::Test {
 protected:
  CoordinatorTest() { Restart(); }
  ~CoordinatorTest() override {
    coordinator_.reset();
    std::filesystem::remove_all(folder_);
  }

  Moment at() const { return {now_, kWallStart + (now_ - kStart) + wall_skew_}; }

  /// As if the process had been killed: nothing is written on the way out.
  void Restart() {
    coordinator_.reset();
    Result<std::unique_ptr<Store>> store = Store::Open(path_);
    ASSERT_TRUE(store.ok()) << store.status();
    Result<std::unique_ptr<Coordinator>> coordinator =
        Coordinator::Open(*std::move(store), {}, nullptr, at());
    ASSERT_TRUE(coordinator.ok()) << coordinator.status();
    coordinator_ = *std::move(coordinator);
  }

  /// One call in a transaction of its own.
  Status Do(std::function<Status(const Moment&)> run) {
    Status answer = Internal("not answered");
    coordinator_->Execute({{std::move(run), [&](const Status& status) { answer = status; }}}, at());
    if (checks_invariants_) {
      const Status invariants = coordinator_->CheckInvariants();
      EXPECT_TRUE(invariants.ok()) << invariants;
    }
    return answer;
  }
  template <typename Value>
  Result<Value> Get(std::function<Result<Value>(const Moment&)> run) {
    std::optional<Value> value;
    const Status status = Do([&](const Moment& moment) -> Status {
      GYRE_ASSIGN_OR_RETURN(value, run(moment));
      return OkStatus();
    });
    if (!status.ok()) return status;
    return *value;
  }

  void Advance(Millis by) {
    now_ += by;
    coordinator_->Execute({}, at());
  }

  /// Until every attempt is lost: the lease, then the grace.
  void LoseAll() {
    Advance(Timing().lease);
    Advance(Timing().suspect_grace);
  }

  Result<SubmitReply> Submit(PreparedSweep sweep, bool replace = false, bool fresh = false) {
    PreparedSubmission submission;
    submission.sweeps.push_back(std::move(sweep));
    submission.replace = replace;
    submission.fresh = fresh;
    auto replies = Get<std::vector<SubmitReply>>(
        [&](const Moment& moment) { return coordinator_->Submit(submission, moment); });
    if (!replies.ok()) return replies.status();
    return replies->front();
  }

  Status Register(const std::string& name, const std::string& incarnation, int slots = 1) {
    RegisterCall call;
    call.name = name;
    call.incarnation = incarnation;
    call.protocol = kProtocolVersion;
    call.slots = slots;
    call.cpus = slots;
    call.memory_bytes = int64_t{1} << 30;
    return Get<RegisterReply>(
               [&](const Moment& moment) { return coordinator_->Register(call, moment); })
        .status();
  }

  /// Asks and does not wait.
  Result<std::optional<LeaseReply>> Acquire(const std::string& incarnation) {
    std::optional<LeaseReply> lease;
    const AcquireCall call{incarnation, Millis(0), 1, 1, int64_t{1} << 30};
    const int64_t offer = ++offers_;
    const Status status = Do([&](const Moment& moment) {
      return coordinator_->Acquire(
          offer, call, [&](const std::optional<LeaseReply>& reply) { lease = reply; }, moment);
    });
    if (!status.ok()) return status;
    if (lease) epochs_[{lease->job_id, lease->attempt}] = lease->epoch;
    return lease;
  }

  static AttemptRef Ref(const LeaseReply& lease, const std::string& incarnation) {
    return {lease.job_id, lease.attempt, incarnation, lease.epoch};
  }

  // An epoch that is not said is the lease's.
  std::string EpochOf(int64_t job, int number) const {
    const auto granted = epochs_.find({job, number});
    return granted != epochs_.end() ? granted->second : coordinator_->epoch();
  }
  AttemptRef Full(AttemptRef attempt) const {
    if (attempt.epoch.empty()) attempt.epoch = EpochOf(attempt.job, attempt.number);
    return attempt;
  }

  Result<HeartbeatReply> Beat(const std::string& incarnation, std::vector<HeldAttempt> held) {
    for (HeldAttempt& attempt : held) {
      if (attempt.epoch.empty()) attempt.epoch = EpochOf(attempt.job, attempt.number);
    }
    return Get<HeartbeatReply>([&](const Moment& moment) {
      return coordinator_->Heartbeat({incarnation, held}, moment);
    });
  }

  Result<int64_t> Report(const AttemptRef& attempt, int64_t sequence,
                         std::vector<PointRecord> points, const std::string& fingerprint = "cpu",
                         std::vector<StatisticsRecord> statistics = {}) {
    return Get<int64_t>([&](const Moment& moment) {
      return coordinator_->ReportPoints({Full(attempt), sequence, points, fingerprint, statistics},
                                        moment);
    });
  }

  Result<ObsoleteObjects> Save(const AttemptRef& attempt, int64_t step, const std::string& hash,
                               bool weights_only = false) {
    return Get<ObsoleteObjects>([&](const Moment& moment) {
      return coordinator_->ReportCheckpoint(
          {Full(attempt), step, step * 10, hash, 5, weights_only, 0}, moment);
    });
  }

  Result<ObsoleteObjects> Finish(const AttemptRef& attempt, AttemptOutcome outcome,
                                 int64_t last_sequence = 0, const std::string& error = "",
                                 const std::string& code = "") {
    FinishAttemptCall call;
    call.attempt = Full(attempt);
    call.outcome = outcome;
    call.last_sequence = last_sequence;
    call.error = error;
    call.error_code = code;
    call.tokens = outcome == AttemptOutcome::kSucceeded ? 1000 : 0;
    return Get<ObsoleteObjects>(
        [&](const Moment& moment) { return coordinator_->FinishAttempt(call, moment); });
  }

  SweepReply Sweep(const std::string& name) {
    auto reply = Get<SweepReply>([&](const Moment&) { return coordinator_->GetSweep(name); });
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? *reply : SweepReply{};
  }

  /// What a reader of the file sees: columns joined by '|', rows by '; '.
  std::string Sql(const std::string& sql) {
    auto database = Database::OpenReadOnly(path_);
    if (!database.ok()) return database.status().ToString();
    auto rows = database->Prepare(sql);
    if (!rows.ok()) return rows.status().ToString();
    std::string text;
    for (bool first = true; *rows->Step(); first = false) {
      if (!first) text += "; ";
      for (int column = 0; column < rows->columns(); ++column) {
        text += (column > 0 ? "|" : "") + (rows->IsNull(column) ? "NULL" : rows->Text(column));
      }
    }
    return text;
  }
  std::string Jobs() { return Sql("SELECT id, state FROM jobs ORDER BY id"); }

  const std::filesystem::path folder_ = FreshFolder("coordinator");
  const std::filesystem::path path_ = folder_ / "results.db";
  Millis now_ = kStart;
  Millis wall_skew_{0};  // somebody has set the clock
  int64_t offers_ = 0;
  std::map<std::pair<int64_t, int>, std::string> epochs_;  // of the leases that were granted
  bool checks_invariants_ = true;
  std::unique_ptr<Coordinator> coordinator_;
};

}  // namespace gyre
