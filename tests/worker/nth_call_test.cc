// Whichever of a worker's calls fails, the 1st, 2nd, 3rd, ... until none does: in the end the
// database has what it has when all goes well. The client, the uploader and the coordinator are the
// real ones, over gRPC.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/files.h"
#include "base/hash.h"
#include "base/log.h"
#include "coordinator/server.h"
#include "objects/object_store.h"
#include "tests/coordinator/harness.h"
#include "worker/coordinator_client.h"
#include "worker/uploader.h"

namespace gyre {
namespace {

constexpr int kJobs = 3;

enum class Fault {
  kNotSent,
  kAnswerIsLost,
  kCoordinatorRestarts,  // having done it, and before it answers
};

class FaultyClient : public CoordinatorClient {
 public:
  FaultyClient(std::unique_ptr<CoordinatorClient> real, Fault fault, int nth,
               std::function<void()> restart)
      : real_(std::move(real)), fault_(fault), nth_(nth), restart_(std::move(restart)) {}

  bool has_failed() const { return calls_ >= nth_; }

  Result<Registered> Register(const Registration& registration, std::stop_token stop) override {
    return Through([&] { return real_->Register(registration, stop); });
  }
  Result<std::optional<Lease>> AcquireLease(const Capacity& capacity, Millis wait,
                                            std::stop_token stop) override {
    return Through([&] { return real_->AcquireLease(capacity, wait, stop); });
  }
  Result<HeartbeatAnswer> Heartbeat(const std::vector<HeldLease>& held, const std::string& problem,
                                    std::stop_token stop) override {
    return Through([&] { return real_->Heartbeat(held, problem, stop); });
  }
  Result<Millis> ReportPoints(const PointBatch& batch, std::stop_token stop) override {
    return Through([&] { return real_->ReportPoints(batch, stop); });
  }
  Result<std::vector<std::string>> ReportCheckpoint(const CheckpointReport& report,
                                                    std::stop_token stop) override {
    return Through([&] { return real_->ReportCheckpoint(report, stop); });
  }
  Result<Finished> FinishAttempt(const AttemptEnd& end, std::stop_token stop) override {
    return Through([&] { return real_->FinishAttempt(end, stop); });
  }
  Status AppendLog(const LogChunk& chunk, std::stop_token stop) override {
    return Through([&] { return real_->AppendLog(chunk, stop); });
  }

 private:
  template <typename Call>
  auto Through(Call call) -> decltype(call()) {
    const bool fails = ++calls_ == nth_;
    if (fails && fault_ == Fault::kNotSent) return Unavailable("not sent");
    auto answer = call();
    if (!fails) return answer;
    if (fault_ == Fault::kCoordinatorRestarts) restart_();
    return Unavailable("the answer is lost");
  }

  const std::unique_ptr<CoordinatorClient> real_;
  const Fault fault_;
  const int nth_;
  const std::function<void()> restart_;
  std::atomic<int> calls_{0};
};

class NthCallTest : public testing::TestWithParam<Fault> {
 protected:
  NthCallTest() { SetLogLevel(LogLevel::kOff); }
  ~NthCallTest() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  /// A database with one sweep, served.
  void Fresh() {
    server_.reset();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "objects");
    auto store = Store::Open(folder_ / "results.db");
    ASSERT_TRUE(store.ok()) << store.status();
    const Moment at{kStart, kWallStart};
    auto coordinator = Coordinator::Open(*std::move(store), {}, nullptr, at);
    ASSERT_TRUE(coordinator.ok()) << coordinator.status();
    PreparedSubmission submission;
    submission.sweeps = {MakeSweep("s", 1, kJobs)};
    Status submitted = Internal("not answered");
    (*coordinator)
        ->Execute({{[&](const Moment& moment) {
                      return (*coordinator)->Submit(submission, moment).status();
                    },
                    [&](const Status& status) { submitted = status; }}},
                  at);
    ASSERT_TRUE(submitted.ok()) << submitted;
    coordinator->reset();
    Serve();
  }
  /// On the same port as before.
  void Serve() {
    server_.reset();
    ServerOptions options;
    options.listen = "127.0.0.1:" + std::to_string(port_);
    options.database = folder_ / "results.db";
    options.home = folder_;
    auto server = CoordinatorServer::Start(options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    port_ = server_->port();
  }

  /// What a worker does about an answer that does not come.
  template <typename Call>
  static auto Insist(Call call) -> decltype(call()) {
    const Millis deadline = Clock::Real().Now() + Millis(20000);
    while (true) {
      auto answer = call();
      if (Code(answer) != StatusCode::kUnavailable || Clock::Real().Now() > deadline) {
        return answer;
      }
      std::this_thread::yield();
    }
  }
  static StatusCode Code(const Status& status) { return status.code(); }
  template <typename T>
  static StatusCode Code(const Result<T>& result) {
    return result.status().code();
  }

  /// All jobs, by one worker with one slot.
  void Work(CoordinatorClient& client) {
    ASSERT_TRUE(Insist([&] { return client.Register({.name = "w", .slots = 1}, {}); }).ok());
    std::optional<Lease> lease;
    const Millis deadline = Clock::Real().Now() + Millis(30000);
    while (Sql("SELECT count(*) FROM jobs WHERE state <> 'SUCCEEDED'") != "0") {
      ASSERT_LT(Clock::Real().Now(), deadline);
      if (!lease) {
        // What this worker does not know of, its coordinator hears of so.
        ASSERT_TRUE(Insist([&] { return client.Heartbeat({}, "", {}); }).ok());
        const auto acquired = client.AcquireLease({1, 1, 1 << 30}, Millis(0), {});
        if (acquired.ok()) lease = *acquired;
        continue;
      }
      ASSERT_NO_FATAL_FAILURE(Train(client, *std::exchange(lease, std::nullopt), &lease));
    }
  }
  void Train(CoordinatorClient& client, const Lease& lease, std::optional<Lease>* next) {
    const AttemptId attempt = lease.attempt;
    ASSERT_TRUE(Insist([&] { return client.Heartbeat({{attempt, {}, {}}}, "", {}); }).ok());
    Uploader uploader(attempt, client, {.batch_wait = Millis(1)});
    for (const int64_t step : {1, 2, 3}) {
      ASSERT_TRUE(uploader.AddPoint({"m", step, step * 10, 1.0 / static_cast<double>(step)}));
      ASSERT_TRUE(uploader.AddCheckpoint(Save(attempt.job_id, step, step == 3)));
    }
    ASSERT_TRUE(Insist([&] { return client.AppendLog({attempt, 0, "trained\n"}, {}); }).ok());
    const Status finished = uploader.Finish(
        {.outcome = Outcome::kSucceeded, .step = 3, .tokens = 30, .wants_next = true});
    ASSERT_TRUE(finished.ok()) << finished;
    *next = uploader.TakeNext();
  }
  Checkpoint Save(int64_t job, int64_t step, bool weights_only) {
    const std::string content = std::to_string(job) + " at " + std::to_string(step);
    const ObjectRef ref{ObjectKind::kObject, Sha256Hex(content)};
    EXPECT_TRUE(WriteFileAtomically(ObjectStore(folder_).PathOf(ref), content).ok());
    return {step, step * 10, ref.hash, static_cast<int64_t>(content.size()), weights_only};
  }

  std::string Sql(const std::string& query) {
    const auto database = Database::OpenReadOnly(folder_ / "results.db");
    EXPECT_TRUE(database.ok()) << database.status();
    auto rows = database->Prepare(query);
    EXPECT_TRUE(rows.ok() && *rows->Step()) << rows.status();
    return std::string(rows->Text(0));
  }
  /// All but times, the order of jobs, and how many leases were lost.
  std::string Outcomes() {
    return Sql("SELECT group_concat(id || state || tokens_done) FROM jobs") + "\n" +
           Sql("SELECT group_concat(job_id || metric || step || ' ' || tokens || ' ' || value) "
               "FROM points") +
           "\n" +
           Sql("SELECT group_concat(job_id || ' ' || step || hash || weights_only || tokens) "
               "FROM checkpoints") +
           "\n" + Sql("SELECT group_concat(job_id) FROM attempts WHERE state = 'SUCCEEDED'") +
           "\n" +
           Sql("SELECT group_concat(job_id || kind) FROM (SELECT * FROM events WHERE kind IN "
               "('attempt_succeeded', 'job_succeeded', 'attempt_failed') ORDER BY job_id, id)");
  }

  const std::filesystem::path folder_ = FreshFolder("nth-call");
  int port_ = 0;
  std::unique_ptr<CoordinatorServer> server_;
};

TEST_P(NthCallTest, WhicheverCallFailsTheDatabaseEndsTheSame) {
  std::string undisturbed;
  for (int nth = 0;; ++nth) {  // the 0th: none
    ASSERT_NO_FATAL_FAILURE(Fresh());
    auto client = ConnectToCoordinator(server_->address(), folder_, "w1");
    ASSERT_TRUE(client.ok()) << client.status();
    FaultyClient faulty(*std::move(client), GetParam(), nth, [this] { Serve(); });
    ASSERT_NO_FATAL_FAILURE(Work(faulty)) << "call " << nth;
    if (nth == 0) undisturbed = Outcomes();
    ASSERT_EQ(Outcomes(), undisturbed) << "call " << nth;
    ASSERT_EQ(Sql("SELECT count(*) FROM attempts WHERE state NOT IN ('SUCCEEDED', 'LOST')"), "0");
    if (nth > 0 && !faulty.has_failed()) {
      EXPECT_GT(nth, 20);
      return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, NthCallTest,
                         testing::Values(Fault::kNotSent, Fault::kAnswerIsLost,
                                         Fault::kCoordinatorRestarts),
                         [](const auto& test) {
                           switch (test.param) {
                             case Fault::kNotSent:
                               return "NotSent";
                             case Fault::kAnswerIsLost:
                               return "AnswerIsLost";
                             default:
                               return "CoordinatorRestarts";
                           }
                         });

}  // namespace
}  // namespace gyre
