// The gRPC client against a real server on loopback that keeps what it hears.

#include "worker/coordinator_client.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>

#include "gyre/v1/worker_service.grpc.pb.h"
#include "proto/grpc_status.h"

namespace gyre {
namespace {

using ::testing::ElementsAre;

class Service : public v1::WorkerService::Service {
 public:
  template <typename Message>
  grpc::Status Hear(const Message& message) {
    heard = message.ShortDebugString();
    if (superseded) return ToGrpcStatus(answer, *superseded);
    return ToGrpcStatus(answer);
  }
  grpc::Status Register(grpc::ServerContext*, const v1::RegisterRequest* request,
                        v1::RegisterResponse* response) override {
    response->set_worker_id(7);
    response->set_heartbeat_ms(30);
    response->set_lease_ms(120);
    response->set_epoch("e");
    if (request->left_size() > 0) {
      auto* desire = response->add_left();
      desire->set_desire(v1::DESIRE_DROP);
      desire->mutable_superseded()->set_why("attempt 2 was given up");
    }
    return Hear(*request);
  }
  grpc::Status AcquireLease(grpc::ServerContext* context, const v1::AcquireLeaseRequest* request,
                            v1::AcquireLeaseResponse* response) override {
    if (hold) {
      waiting.set_value();
      while (!context->IsCancelled()) std::this_thread::yield();
      return grpc::Status::CANCELLED;
    }
    if (!has_work) return Hear(*request);
    auto* lease = response->mutable_lease();
    lease->set_job_id(3);
    lease->set_attempt(2);
    lease->set_job("{}");
    lease->set_checkpoint_hash("ab");
    lease->set_checkpoint_step(9);
    lease->set_cpus(4);
    lease->set_device("cuda:1,cuda:0");
    lease->set_gpus(2);
    lease->set_epoch("e");
    return Hear(*request);
  }
  grpc::Status Heartbeat(grpc::ServerContext*, const v1::HeartbeatRequest* request,
                         v1::HeartbeatResponse* response) override {
    for (const auto desire :
         {v1::DESIRE_CONTINUE, v1::DESIRE_STOP, v1::DESIRE_CHECKPOINT, v1::DESIRE_DROP}) {
      response->add_desires()->set_desire(desire);
    }
    response->set_epoch("e");
    return Hear(*request);
  }
  grpc::Status ReportPoints(grpc::ServerContext*, const v1::ReportPointsRequest* request,
                            v1::ReportPointsResponse* response) override {
    response->set_pause_ms(17);
    return Hear(*request);
  }
  grpc::Status ReportCheckpoint(grpc::ServerContext*, const v1::ReportCheckpointRequest* request,
                                v1::ReportCheckpointResponse* response) override {
    response->add_obsolete("old");
    return Hear(*request);
  }
  grpc::Status FinishAttempt(grpc::ServerContext*, const v1::FinishAttemptRequest* request,
                             v1::FinishAttemptResponse*) override {
    return Hear(*request);
  }

  std::string heard;
  Status answer;
  std::optional<v1::Superseded> superseded;
  bool has_work = false, hold = false;
  std::promise<void> waiting;
};

class CoordinatorClientTest : public ::testing::Test {
 protected:
  void Serve() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:" + std::to_string(port_),
                             grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  std::unique_ptr<CoordinatorClient> Connect() {
    return *ConnectToCoordinator("127.0.0.1:" + std::to_string(port_), "/nowhere", "me");
  }

  Service service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(CoordinatorClientTest, EveryFieldTravels) {
  Serve();
  const auto client = Connect();
  const std::stop_token never;
  const auto registered =
      client->Register({"h/0", "1.2", 2, 4, 99, {{"cpu", "cpu", "Fast", 98}}}, never);
  ASSERT_TRUE(registered.ok()) << registered.status();
  EXPECT_EQ(registered->heartbeat, Millis(30));
  EXPECT_EQ(
      service_.heard,
      R"(name: "h/0" incarnation: "me" protocol: 2 version: "1.2" slots: 2 cpus: 4 memory_bytes: 99 )"
      R"(devices { name: "cpu" kind: "cpu" model: "Fast" memory_bytes: 98 } oldest_protocol: 2)");
  EXPECT_EQ(registered->epoch, "e");
  const auto attached =
      client->Register({.name = "h/0", .left = {{{3, 2, "e"}, 9, Outcome::kSucceeded}}}, never);
  ASSERT_TRUE(attached.ok() && attached->left.size() == 1);
  EXPECT_EQ(attached->left[0].desire, Desire::kDrop);
  EXPECT_EQ(attached->left[0].why, "attempt 2 was given up");
  EXPECT_THAT(service_.heard,
              ::testing::HasSubstr(R"(left { attempt { job_id: 3 attempt: 2 epoch: "e" } )"
                                   R"(step: 9 outcome: OUTCOME_SUCCEEDED })"));

  EXPECT_FALSE(
      client->AcquireLease({1, 2, 3, "cuda:1", {"cuda:0"}}, Millis(5), never)->has_value());
  EXPECT_EQ(service_.heard,
            R"(incarnation: "me" wait_ms: 5 free_slots: 1 free_cpus: 2 free_memory_bytes: 3 )"
            R"(device: "cuda:1" free_gpus: "cuda:0")");
  service_.has_work = true;
  const auto lease = client->AcquireLease({1, 2, 3}, Millis(5), never);
  ASSERT_TRUE(lease.ok() && lease->has_value());
  EXPECT_EQ((*lease)->attempt, (AttemptId{3, 2, "e"}));
  EXPECT_EQ((*lease)->checkpoint_hash, "ab");
  EXPECT_EQ((*lease)->checkpoint_step, 9);
  EXPECT_EQ((*lease)->cpus, 4);
  EXPECT_EQ((*lease)->device, "cuda:1,cuda:0");
  EXPECT_EQ((*lease)->gpus, 2);

  const auto beat = client->Heartbeat({{{3, 2, "e"}, {5, 50, 1.5, 0.5}, Outcome::kFailed}},
                                      "the disk is full", never);
  ASSERT_TRUE(beat.ok() && beat->desires.size() == 4);
  EXPECT_EQ(beat->desires[1].desire, Desire::kStop);
  EXPECT_EQ(beat->desires[3].desire, Desire::kDrop);
  EXPECT_EQ(beat->epoch, "e");
  EXPECT_EQ(
      service_.heard,
      R"(incarnation: "me" held { attempt { job_id: 3 attempt: 2 epoch: "e" } )"
      R"(progress { step: 5 tokens: 50 tokens_per_second: 1.5 loss: 0.5 } outcome: OUTCOME_FAILED } )"
      R"(problem: "the disk is full")");

  EXPECT_EQ(
      *client->ReportPoints({{3, 2, "e"}, 1, {{"m", 1, 10, 0.1}}, {{"{\"step\":1}"}}, "{}"}, never),
      Millis(17));
  EXPECT_EQ(service_.heard,
            R"(attempt { job_id: 3 attempt: 2 epoch: "e" } incarnation: "me" sequence: 1 )"
            R"(points { metric: "m" step: 1 tokens: 10 value: 0.1 } fingerprint: "{}" )"
            R"(statistics: "{\"step\":1}")");

  EXPECT_THAT(*client->ReportCheckpoint({{3, 2, "e"}, {1, 10, "ab", 5, true}, 1}, never),
              ElementsAre("old"));
  EXPECT_EQ(
      service_.heard,
      R"(attempt { job_id: 3 attempt: 2 epoch: "e" } incarnation: "me" step: 1 tokens: 10 hash: "ab" bytes: 5 )"
      R"(weights_only: true sequence: 1)");

  EXPECT_TRUE(
      client
          ->FinishAttempt(
              {{3, 2, "e"}, Outcome::kLost, 1, NotFound("gone"), 1, 10, 0, 8, 2.5, "{}"}, never)
          .ok());
  EXPECT_EQ(
      service_.heard,
      R"(attempt { job_id: 3 attempt: 2 epoch: "e" } incarnation: "me" outcome: OUTCOME_LOST last_sequence: 1 )"
      R"(error: "gone" error_code: "NOT_FOUND" step: 1 tokens: 10 diverged_at_step: 0 )"
      R"(peak_memory_bytes: 8 tokens_per_second: 2.5 fingerprint: "{}")");
}

TEST_F(CoordinatorClientTest, ATrainersLastWordsNeedNotBeText) {
  Serve();
  const Status broken = Internal("the trainer crashed; its last lines:\ncaf\xe9 \xf0\x9f");
  const auto obsolete = Connect()->FinishAttempt({.attempt = {3, 2, "e"}, .error = broken}, {});
  ASSERT_TRUE(obsolete.ok()) << obsolete.status();
  EXPECT_THAT(service_.heard, ::testing::HasSubstr("its last lines:\\ncaf"));
}

TEST_F(CoordinatorClientTest, TheServersWordsComeBack) {
  Serve();
  service_.answer = InvalidArgument("a number was left out");
  EXPECT_EQ(Connect()->ReportPoints({}, {}).status(), InvalidArgument("a number was left out"));
}

TEST_F(CoordinatorClientTest, TooLateIsWhatNamesTheAttemptThatIsCurrent) {
  Serve();
  service_.answer = FailedPrecondition("no");
  EXPECT_EQ(Connect()->ReportPoints({}, {}).status().code(), StatusCode::kInternal);
  service_.superseded.emplace();
  service_.superseded->set_reason(v1::Superseded::REASON_LOST);
  service_.superseded->set_why("attempt 2 was given up");
  EXPECT_EQ(Connect()->ReportPoints({}, {}).status(), FailedPrecondition("attempt 2 was given up"));
  EXPECT_EQ(Connect()->FinishAttempt({}, {}).status(),
            FailedPrecondition("attempt 2 was given up"));
}

TEST_F(CoordinatorClientTest, ItComesBackByItselfToAServerThatDoes) {
  Serve();
  const auto client = Connect();
  EXPECT_TRUE(client->ReportPoints({}, {}).ok());
  server_->Shutdown(std::chrono::system_clock::now());
  server_.reset();
  EXPECT_EQ(client->ReportPoints({}, {}).status().code(), StatusCode::kUnavailable);
  Serve();
  const Millis deadline = Clock::Real().Now() + Millis(10000);
  Status status = Unavailable("");
  while (!status.ok() && Clock::Real().Now() < deadline) {
    status = client->ReportPoints({}, {}).status();
    std::this_thread::yield();
  }
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(CoordinatorClientTest, AStopEndsACallThatWaits) {
  Serve();
  service_.hold = true;
  const auto client = Connect();
  std::stop_source stop;
  auto call = std::async(std::launch::async,
                         [&] { return client->AcquireLease({}, Millis(60000), stop.get_token()); });
  service_.waiting.get_future().wait();
  stop.request_stop();
  EXPECT_EQ(call.get().status().code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace gyre
