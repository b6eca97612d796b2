// The whole server on loopback, over gRPC and HTTP.

#include "coordinator/server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <httplib.h>

#include <fstream>
#include <thread>

#include "base/log.h"
#include "gyre/v1/log_service.grpc.pb.h"
#include "gyre/v1/object_service.grpc.pb.h"
#include "gyre/v1/sweep_service.grpc.pb.h"
#include "gyre/v1/worker_service.grpc.pb.h"
#include "objects/database_list.h"
#include "proto/grpc_status.h"
#include "proto/protocol.h"
#include "results/database.h"
#include "results/sweep_status.h"
#include "tests/coordinator/harness.h"
#include "tests/trainer/data/made_dataset.h"

namespace gyre {
namespace {

using testing::HasSubstr;

/// A file is a sweep's name; "bad" has faults of many lines.
Result<std::vector<SweepSpec>> ParseName(const std::string& yaml, const SpecOptions& options) {
  if (yaml == "bad")
    return InvalidArgument("a.yaml:1:1: error: no\n   1 | bad\n      ^\n" +
                           std::string(20000, '!'));
  SweepSpec spec;
  spec.name = yaml;
  Variant variant;
  variant.name = "a";
  variant.config.train.tokens = 1000;
  variant.train_dataset = options.dataset_hashes("request").value_or("");
  spec.variants = {variant};
  spec.baselines = {-1};
  spec.seeds = {0, 1};
  spec.jobs = {{0, 0, yaml + "-key-0", std::nullopt}, {0, 1, yaml + "-key-1", std::nullopt}};
  return std::vector<SweepSpec>{spec};
}

class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    SetLogLevel(LogLevel::kError);
    options_.listen = "127.0.0.1:0";
    options_.database = folder_ / "results.db";
    options_.home = folder_ / "home";
    dataset_ = MakeDataset(options_.home, {"text"});
    options_.parser = ParseName;
    Start();
  }
  ~ServerTest() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Start() {
    auto server = CoordinatorServer::Start(options_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 10);
    channel_ = grpc::CreateCustomChannel(server_->address(), grpc::InsecureChannelCredentials(),
                                         arguments);
    sweeps_ = v1::SweepService::NewStub(channel_);
    workers_ = v1::WorkerService::NewStub(channel_);
  }

  /// Every call ends within a time that no test needs.
  static void SetDeadline(grpc::ClientContext* context) {
    context->set_deadline(gpr_time_from_seconds(20, GPR_TIMESPAN));
    context->set_wait_for_ready(true);
  }

  template <typename Stub, typename Request, typename Response>
  grpc::Status Call(Stub& stub,
                    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    SetDeadline(&context);
    return (stub.*method)(&context, request, response);
  }

  grpc::Status Submit(const std::string& yaml, v1::SubmitResponse* response) {
    v1::SubmitRequest request;
    request.set_yaml(yaml);
    (*request.mutable_datasets())["request"].set_hash(dataset_);
    return Call(*sweeps_, &v1::SweepService::Stub::Submit, request, response);
  }
  void Register() {
    v1::RegisterRequest request;
    request.set_name("w");
    request.set_incarnation("w1");
    request.set_protocol(kProtocolVersion);
    request.set_slots(1);
    v1::Device* device = request.add_devices();
    device->set_name("cuda:0");
    device->set_kind("cuda");
    device->set_model("NVIDIA H100");
    device->set_memory_bytes(int64_t{80} << 30);
    v1::RegisterResponse response;
    const grpc::Status status =
        Call(*workers_, &v1::WorkerService::Stub::Register, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.lease_ms(), 12000);
  }
  v1::AcquireLeaseResponse Acquire(int64_t wait_ms) {
    v1::AcquireLeaseRequest request;
    request.set_incarnation("w1");
    request.set_wait_ms(wait_ms);
    request.set_free_slots(1);
    request.set_free_cpus(1);
    v1::AcquireLeaseResponse response;
    const grpc::Status status =
        Call(*workers_, &v1::WorkerService::Stub::AcquireLease, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    if (response.has_lease()) epoch_ = response.lease().epoch();
    return response;
  }

  const std::filesystem::path folder_ = FreshFolder("server");
  ServerOptions options_;
  std::string dataset_;
  std::string epoch_;  // of the last lease
  std::unique_ptr<CoordinatorServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::SweepService::Stub> sweeps_;
  std::unique_ptr<v1::WorkerService::Stub> workers_;
};

TEST_F(ServerTest, ALogIsTakenFromItsWorkerAloneAndRead) {
  v1::SubmitResponse submitted;
  ASSERT_TRUE(Submit("s", &submitted).ok());
  Register();
  ASSERT_EQ(Acquire(0).lease().job_id(), 1);
  const auto logs = v1::LogService::NewStub(channel_);
  v1::AppendLogRequest append;
  append.set_job_id(1);
  append.set_attempt(1);
  append.set_incarnation("somebody else");
  append.set_data("hello\n");
  v1::AppendLogResponse appended;
  EXPECT_EQ(Call(*logs, &v1::LogService::Stub::Append, append, &appended).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  append.set_incarnation("w1");
  EXPECT_EQ(Call(*logs, &v1::LogService::Stub::Append, append, &appended).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  append.set_epoch(epoch_);
  for (int time = 0; time < 2; ++time) {
    const auto status = Call(*logs, &v1::LogService::Stub::Append, append, &appended);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(appended.next_offset(), 6);
  }
  v1::ReadLogRequest read;
  read.set_job_id(1);
  read.set_attempt(1);
  v1::ReadLogResponse part;
  ASSERT_TRUE(Call(*logs, &v1::LogService::Stub::Read, read, &part).ok());
  EXPECT_EQ(part.data(), "hello\n");
  read.set_attempt(2);
  EXPECT_EQ(Call(*logs, &v1::LogService::Stub::Read, read, &part).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(ServerTest, TheAnswerToAnOutcomeBringsTheNextLeaseOverTheWire) {
  v1::SubmitResponse submitted;
  ASSERT_TRUE(Submit("s", &submitted).ok());
  Register();
  v1::Lease lease = Acquire(0).lease();
  v1::FinishAttemptResponse finished;
  for (int job = 1; job <= 2; ++job) {
    ASSERT_EQ(lease.job_id(), job);
    v1::FinishAttemptRequest finish;
    finish.mutable_attempt()->set_job_id(job);
    finish.mutable_attempt()->set_attempt(lease.attempt());
    finish.mutable_attempt()->set_epoch(lease.epoch());
    finish.set_incarnation("w1");
    finish.set_outcome(v1::OUTCOME_SUCCEEDED);
    finish.set_wants_next(true);
    finished.Clear();
    ASSERT_TRUE(Call(*workers_, &v1::WorkerService::Stub::FinishAttempt, finish, &finished).ok());
    lease = finished.next();
    // Again: answered, with nothing.
    finished.Clear();
    ASSERT_TRUE(Call(*workers_, &v1::WorkerService::Stub::FinishAttempt, finish, &finished).ok());
    EXPECT_FALSE(finished.has_next());
  }
  EXPECT_EQ(lease.job_id(), 0);  // there is no third
}

TEST_F(ServerTest, ALateCallBringsWhatSupersedesItOverTheWire) {
  v1::SubmitResponse submitted;
  ASSERT_TRUE(Submit("s", &submitted).ok());
  Register();
  ASSERT_EQ(Acquire(0).lease().job_id(), 1);
  v1::FinishAttemptRequest finish;
  finish.mutable_attempt()->set_job_id(1);
  finish.mutable_attempt()->set_attempt(1);
  finish.mutable_attempt()->set_epoch(epoch_);
  finish.set_incarnation("w1");
  finish.set_outcome(v1::OUTCOME_STOPPED);
  v1::FinishAttemptResponse finished;
  ASSERT_TRUE(Call(*workers_, &v1::WorkerService::Stub::FinishAttempt, finish, &finished).ok());

  v1::ReportPointsRequest points;
  *points.mutable_attempt() = finish.attempt();
  points.set_incarnation("w1");
  points.set_sequence(1);
  v1::ReportPointsResponse acknowledged;
  const grpc::Status status =
      Call(*workers_, &v1::WorkerService::Stub::ReportPoints, points, &acknowledged);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  v1::Superseded superseded;
  ASSERT_TRUE(TakeDetail(status, &superseded));
  EXPECT_EQ(superseded.reason(), v1::Superseded::REASON_ENDED);
  EXPECT_EQ(superseded.current_attempt(), 1);
  EXPECT_EQ(superseded.job_state(), "QUEUED");
  EXPECT_EQ(superseded.why(), status.error_message());

  v1::HeartbeatRequest beat;
  beat.set_incarnation("w1");
  *beat.add_held()->mutable_attempt() = finish.attempt();
  v1::HeartbeatResponse answer;
  ASSERT_TRUE(Call(*workers_, &v1::WorkerService::Stub::Heartbeat, beat, &answer).ok());
  EXPECT_EQ(answer.epoch(), epoch_);
  EXPECT_EQ(answer.desires(0).desire(), v1::DESIRE_DROP);
  EXPECT_EQ(answer.desires(0).superseded().reason(), v1::Superseded::REASON_ENDED);
}

TEST_F(ServerTest, AJobFromSubmissionToQuery) {
  v1::SubmitResponse submitted;
  ASSERT_TRUE(Submit("s", &submitted).ok());
  ASSERT_EQ(submitted.sweeps_size(), 1);
  EXPECT_EQ(submitted.sweeps(0).jobs(), 2);
  Register();
  const v1::Lease lease = Acquire(0).lease();
  EXPECT_EQ(lease.job_id(), 1);
  EXPECT_THAT(lease.job(), HasSubstr(dataset_));

  v1::HeartbeatRequest beat;
  beat.set_incarnation("w1");
  v1::HeldLease* held = beat.add_held();
  held->mutable_attempt()->set_job_id(1);
  held->mutable_attempt()->set_attempt(1);
  held->mutable_attempt()->set_epoch(epoch_);
  v1::HeartbeatResponse desires;
  ASSERT_TRUE(Call(*workers_, &v1::WorkerService::Stub::Heartbeat, beat, &desires).ok());
  ASSERT_EQ(desires.desires_size(), 1);
  EXPECT_EQ(desires.desires(0).desire(), v1::DESIRE_CONTINUE);

  v1::ReportPointsRequest points;
  *points.mutable_attempt() = held->attempt();
  points.set_incarnation("w1");
  points.set_sequence(1);
  v1::Point* point = points.add_points();
  point->set_metric("austen/perplexity");
  point->set_step(5);
  point->set_value(4.25);
  v1::ReportPointsResponse acknowledged;
  ASSERT_TRUE(Call(*workers_, &v1::WorkerService::Stub::ReportPoints, points, &acknowledged).ok());
  EXPECT_EQ(acknowledged.acknowledged(), 1);
  points.set_sequence(3);
  EXPECT_EQ(
      Call(*workers_, &v1::WorkerService::Stub::ReportPoints, points, &acknowledged).error_code(),
      grpc::StatusCode::INVALID_ARGUMENT);

  // A batch with one good record and one that is none: nothing of it is taken.
  points.set_sequence(2);
  point->set_step(6);
  points.add_statistics(R"({"step": 6, "tokens": 60, "head_scores": [{"layer": 0, "head": 1,
      "diagonal": 0.5, "previous": null, "first": 0.25, "entropy": 1, "distance": 3}]})");
  for (const char* wrong : {"no json", "[]", R"({"step": 6})", R"({"step": -1, "tokens": 1})"}) {
    points.add_statistics(wrong);
    const grpc::Status refused =
        Call(*workers_, &v1::WorkerService::Stub::ReportPoints, points, &acknowledged);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << wrong;
    EXPECT_THAT(refused.error_message(), HasSubstr("statistics")) << wrong;
    points.mutable_statistics()->RemoveLast();
  }
  ASSERT_TRUE(Call(*workers_, &v1::WorkerService::Stub::ReportPoints, points, &acknowledged).ok());
  EXPECT_EQ(acknowledged.acknowledged(), 2);

  v1::FinishAttemptRequest finish;
  *finish.mutable_attempt() = held->attempt();
  finish.set_incarnation("w1");
  finish.set_outcome(v1::OUTCOME_SUCCEEDED);
  finish.set_last_sequence(2);
  v1::FinishAttemptResponse finished;
  ASSERT_TRUE(Call(*workers_, &v1::WorkerService::Stub::FinishAttempt, finish, &finished).ok());
  finish.set_incarnation("other");
  EXPECT_EQ(
      Call(*workers_, &v1::WorkerService::Stub::FinishAttempt, finish, &finished).error_code(),
      grpc::StatusCode::FAILED_PRECONDITION);

  v1::QueryRequest query;
  query.set_sql("SELECT variant, seed, value FROM final");
  v1::QueryResponse table;
  ASSERT_TRUE(Call(*sweeps_, &v1::SweepService::Stub::Query, query, &table).ok());
  EXPECT_EQ(table.json(), R"({"columns":["variant","seed","value"],"rows":[["a",0,4.25]]})");
  query.set_sql("DELETE FROM jobs");
  EXPECT_EQ(Call(*sweeps_, &v1::SweepService::Stub::Query, query, &table).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);

  v1::GetClusterRequest ask;
  v1::Cluster cluster;
  ASSERT_TRUE(Call(*sweeps_, &v1::SweepService::Stub::GetCluster, ask, &cluster).ok());
  EXPECT_EQ(cluster.queued(), 1);
  EXPECT_EQ(cluster.workers(0).state(), "ACTIVE");

  v1::CompareRequest compare;
  compare.add_sweeps("nothing");
  v1::CompareResponse comparison;
  EXPECT_EQ(Call(*sweeps_, &v1::SweepService::Stub::Compare, compare, &comparison).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(ServerTest, ASweepWhoseDataAreNotHereIsRefusedByName) {
  v1::SubmitRequest request;
  request.set_yaml("s");
  v1::Dataset& dataset = (*request.mutable_datasets())["request"];
  dataset.set_hash(std::string(64, 'a'));
  dataset.set_name("austen");
  v1::SubmitResponse response;
  const grpc::Status status = Call(*sweeps_, &v1::SweepService::Stub::Submit, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("does not hold the data set 'austen'"));
}

TEST_F(ServerTest, ACheckpointCountsOnlyWhenItsObjectIsHereAndObsoleteOnesAreDeleted) {
  v1::SubmitResponse submitted;
  ASSERT_TRUE(Submit("s", &submitted).ok());
  Register();
  ASSERT_EQ(Acquire(0).lease().job_id(), 1);
  v1::ReportCheckpointRequest report;
  report.mutable_attempt()->set_job_id(1);
  report.mutable_attempt()->set_attempt(1);
  report.mutable_attempt()->set_epoch(epoch_);
  report.set_incarnation("w1");
  v1::ReportCheckpointResponse obsolete;
  const auto save = [&](int64_t step, const std::string& hash) {
    report.set_step(step);
    report.set_hash(hash);
    return Call(*workers_, &v1::WorkerService::Stub::ReportCheckpoint, report, &obsolete)
        .error_code();
  };
  const std::filesystem::path objects = options_.home / "objects";
  std::filesystem::create_directories(objects);
  const auto write = [&](char digit) {
    const std::string hash(64, digit);
    std::ofstream(objects / hash) << digit;
    return hash;
  };
  EXPECT_EQ(save(1, std::string(64, 'a')), grpc::StatusCode::DATA_LOSS);
  EXPECT_EQ(save(1, "../../results.db"), grpc::StatusCode::INVALID_ARGUMENT);
  const std::string first = write('a');
  EXPECT_EQ(save(1, first), grpc::StatusCode::OK);
  EXPECT_EQ(save(2, write('b')), grpc::StatusCode::OK);
  EXPECT_EQ(save(3, write('c')), grpc::StatusCode::OK);
  ASSERT_EQ(obsolete.obsolete_size(), 1);
  EXPECT_EQ(obsolete.obsolete(0), first);
  // In the order in which it was asked: what is answered after the deletion comes after it.
  EXPECT_EQ(save(4, std::string(64, 'd')), grpc::StatusCode::DATA_LOSS);
  EXPECT_FALSE(std::filesystem::exists(objects / first));
  EXPECT_TRUE(std::filesystem::exists(objects / std::string(64, 'b')));

  // What it was to go on from is damaged: forgotten, and its object deleted.
  v1::FinishAttemptRequest finish;
  *finish.mutable_attempt() = report.attempt();
  finish.set_incarnation("w1");
  finish.set_outcome(v1::OUTCOME_STOPPED);
  v1::FinishAttemptResponse finished;
  ASSERT_TRUE(Call(*workers_, &v1::WorkerService::Stub::FinishAttempt, finish, &finished).ok());
  EXPECT_EQ(Acquire(0).lease().checkpoint_step(), 3);
  finish.mutable_attempt()->set_attempt(2);
  finish.mutable_attempt()->set_epoch(epoch_);
  finish.set_outcome(v1::OUTCOME_FAILED);
  finish.set_error_code("DATA_LOSS");
  ASSERT_TRUE(Call(*workers_, &v1::WorkerService::Stub::FinishAttempt, finish, &finished).ok());
  ASSERT_EQ(finished.obsolete_size(), 1);
  EXPECT_EQ(finished.obsolete(0), std::string(64, 'c'));
}

// It4innovations/hyperqueue#890
TEST_F(ServerTest, AnObjectThatAnotherDatabaseNeedsStays) {
  const std::string needed(64, 'a');
  {
    const auto other = Database::OpenForWriting(folder_ / "other.db");
    ASSERT_TRUE(other
                    ->Execute("CREATE TABLE checkpoints (hash TEXT); "
                              "INSERT INTO checkpoints VALUES ('" +
                              needed + "')")
                    .ok());
  }
  ASSERT_TRUE(NoteDatabase(options_.home, folder_ / "other.db").ok());
  ASSERT_TRUE(NoteDatabase(options_.home, folder_ / "gone.db").ok());
  v1::SubmitResponse submitted;
  ASSERT_TRUE(Submit("s", &submitted).ok());
  Register();
  ASSERT_EQ(Acquire(0).lease().job_id(), 1);
  const std::filesystem::path objects = options_.home / "objects";
  std::filesystem::create_directories(objects);
  v1::ReportCheckpointRequest report;
  report.mutable_attempt()->set_job_id(1);
  report.mutable_attempt()->set_attempt(1);
  report.mutable_attempt()->set_epoch(epoch_);
  report.set_incarnation("w1");
  const auto save = [&](int64_t step, const std::string& hash) {
    report.set_step(step);
    report.set_hash(hash);
    v1::ReportCheckpointResponse obsolete;
    return Call(*workers_, &v1::WorkerService::Stub::ReportCheckpoint, report, &obsolete).ok();
  };
  for (const char digit : {'a', 'b', 'c', 'd'}) {
    const std::string hash(64, digit);
    std::ofstream(objects / hash) << digit;
    EXPECT_TRUE(save(digit, hash));
  }
  EXPECT_FALSE(save('e', std::string(64, 'e')));  // answered after both deletions
  EXPECT_TRUE(std::filesystem::exists(objects / needed));
  EXPECT_FALSE(std::filesystem::exists(objects / std::string(64, 'b')));
}

TEST_F(ServerTest, TransfersThatTakeAllTheirPlacesHoldUpNoHeartbeat) {
  Register();
  const auto objects = v1::ObjectService::NewStub(channel_);
  constexpr size_t kFlood = 40;
  std::vector<grpc::ClientContext> contexts(kFlood);
  std::vector<v1::PutResponse> responses(kFlood);
  std::vector<std::unique_ptr<grpc::ClientWriter<v1::PutRequest>>> streams;
  for (size_t i = 0; i < kFlood; ++i) {
    SetDeadline(&contexts[i]);
    streams.push_back(objects->Put(&contexts[i], &responses[i]));
    v1::PutRequest message;
    message.mutable_ref()->set_kind(v1::OBJECT_KIND_OBJECT);
    message.mutable_ref()->set_hash(std::string(63, 'a') + "0123456789abcdef"[i % 16]);
    message.mutable_files()->add_files()->set_name("object");
    message.mutable_files()->mutable_files(0)->set_bytes(10);
    streams.back()->Write(message);  // and nothing more
  }
  v1::HeartbeatRequest beat;
  beat.set_incarnation("w1");
  v1::HeartbeatResponse desires;
  v1::GetClusterRequest ask;
  v1::Cluster cluster;
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(Call(*workers_, &v1::WorkerService::Stub::Heartbeat, beat, &desires).ok());
    EXPECT_TRUE(Call(*sweeps_, &v1::SweepService::Stub::GetCluster, ask, &cluster).ok());
  }
  for (size_t i = 0; i < kFlood; ++i) {
    contexts[i].TryCancel();
    EXPECT_FALSE(streams[i]->Finish().ok());
  }
}

TEST_F(ServerTest, FaultsOfAFileComeWholeOverTheWire) {
  v1::SubmitResponse response;
  const grpc::Status status = Submit("bad", &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("a.yaml:1:1: error: no\n   1 | bad\n      ^\n"));
  EXPECT_GT(status.error_message().size(), 20000u);
  v1::SubmitRequest without_data;
  without_data.set_yaml("s");
  EXPECT_EQ(Call(*sweeps_, &v1::SweepService::Stub::Submit, without_data, &response).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(ServerTest, AWaitingWorkerIsAnsweredWhenASweepComes) {
  Register();
  std::thread worker([&] { EXPECT_EQ(Acquire(20000).lease().job_id(), 1); });
  v1::SubmitResponse response;
  EXPECT_TRUE(Submit("s", &response).ok());
  worker.join();
}

TEST_F(ServerTest, AWorkerThatHangsUpGetsNoJob) {
  Register();
  {
    grpc::ClientContext context;
    context.set_deadline(gpr_time_from_millis(50, GPR_TIMESPAN));
    v1::AcquireLeaseRequest request;
    request.set_incarnation("w1");
    request.set_wait_ms(20000);
    request.set_free_slots(1);
    request.set_free_cpus(1);
    v1::AcquireLeaseResponse response;
    EXPECT_EQ(workers_->AcquireLease(&context, request, &response).error_code(),
              grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  // Its next question comes to the same coordinator after that has heard of the hang-up.
  v1::SubmitResponse submitted;
  EXPECT_FALSE(Acquire(0).has_lease());
  ASSERT_TRUE(Submit("s", &submitted).ok());
  EXPECT_EQ(Acquire(0).lease().attempt(), 1);
}

TEST_F(ServerTest, WatchersSeeWhatWasAndWhatComes) {
  v1::SubmitResponse submitted;
  ASSERT_TRUE(Submit("s", &submitted).ok());
  grpc::ClientContext context;
  SetDeadline(&context);
  v1::WatchEventsRequest request;
  request.set_sweep("s");
  const auto stream = sweeps_->WatchEvents(&context, request);
  v1::Event event;
  ASSERT_TRUE(stream->Read(&event));
  EXPECT_EQ(event.kind(), "sweep_submitted");
  const int64_t seen = event.id();

  ASSERT_TRUE(Submit("other", &submitted).ok());  // not this watcher's
  Register();
  ASSERT_TRUE(Acquire(0).has_lease());
  ASSERT_TRUE(stream->Read(&event));
  EXPECT_EQ(event.kind(), "attempt_leased");
  EXPECT_EQ(event.worker(), "w");
  EXPECT_GT(event.id(), seen);
  EXPECT_THAT(event.details(), HasSubstr(R"("variant":"a")"));

  v1::HeartbeatRequest beat;
  beat.set_incarnation("w1");
  v1::HeldLease* held = beat.add_held();
  held->mutable_attempt()->set_job_id(1);
  held->mutable_attempt()->set_attempt(1);
  held->mutable_attempt()->set_epoch(epoch_);
  held->mutable_progress()->set_step(7);
  v1::HeartbeatResponse desires;
  ASSERT_TRUE(Call(*workers_, &v1::WorkerService::Stub::Heartbeat, beat, &desires).ok());
  std::vector<std::string> kinds;
  while (kinds.size() < 2 && stream->Read(&event)) kinds.push_back(event.kind());
  EXPECT_THAT(kinds, testing::UnorderedElementsAre("attempt_running", "progress"));
  context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ServerTest, WatchingASweepThatIsNotThere) {
  grpc::ClientContext context;
  SetDeadline(&context);
  v1::WatchEventsRequest request;
  request.set_sweep("nothing");
  const auto stream = sweeps_->WatchEvents(&context, request);
  v1::Event event;
  EXPECT_FALSE(stream->Read(&event));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(ServerTest, ShutdownEndsWhatIsOpenAndARestartGoesOn) {
  v1::SubmitResponse submitted;
  ASSERT_TRUE(Submit("s", &submitted).ok());
  Register();
  EXPECT_EQ(Acquire(0).lease().job_id(), 1);
  EXPECT_EQ(Acquire(0).lease().job_id(), 2);
  grpc::ClientContext context;
  SetDeadline(&context);
  const auto stream = sweeps_->WatchEvents(&context, {});
  v1::Event event;
  ASSERT_TRUE(stream->Read(&event));
  std::thread waiting([&] {
    grpc::ClientContext context;
    v1::AcquireLeaseRequest request;
    request.set_incarnation("w1");
    request.set_wait_ms(20000);
    request.set_free_slots(1);
    v1::AcquireLeaseResponse response;
    const grpc::Status status = workers_->AcquireLease(&context, request, &response);
    // Answered while it waited, or too late to be taken up.
    EXPECT_THAT(status.error_code(),
                testing::AnyOf(grpc::StatusCode::OK, grpc::StatusCode::UNAVAILABLE,
                               grpc::StatusCode::CANCELLED));
    EXPECT_FALSE(response.has_lease());
  });
  const Millis before = Clock::Real().Now();
  server_->Shutdown();
  EXPECT_LT(Clock::Real().Now() - before, Millis(1500));
  waiting.join();
  while (stream->Read(&event)) continue;
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);

  options_.listen = server_->address();
  server_.reset();
  Start();
  v1::GetSweepRequest ask;
  ask.set_name("s");
  v1::Sweep sweep;
  ASSERT_TRUE(Call(*sweeps_, &v1::SweepService::Stub::GetSweep, ask, &sweep).ok());
  EXPECT_EQ(sweep.jobs().running(), 2);
}

TEST_F(ServerTest, OnePortHasOneCoordinator) {
  ServerOptions second = options_;
  second.listen = server_->address();
  second.database = folder_ / "second.db";
  const Status status = CoordinatorServer::Start(second).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr(server_->address() + ": the port is in use"));
}

TEST_F(ServerTest, OneDatabaseHasOneCoordinator) {
  const Status status = CoordinatorServer::Start(options_).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("results.db is in use by another coordinator"));
}

TEST_F(ServerTest, AWorkersDevicesAreKeptOverARestart) {
  Register();
  server_.reset();
  Start();
  v1::Cluster cluster;
  ASSERT_TRUE(
      Call(*sweeps_, &v1::SweepService::Stub::GetCluster, v1::GetClusterRequest(), &cluster).ok());
  ASSERT_EQ(cluster.workers_size(), 1);
  ASSERT_EQ(cluster.workers(0).devices_size(), 1);
  EXPECT_EQ(cluster.workers(0).devices(0).name(), "cuda:0");
  EXPECT_EQ(cluster.workers(0).devices(0).model(), "NVIDIA H100");
  EXPECT_EQ(cluster.workers(0).devices(0).memory_bytes(), int64_t{80} << 30);
  const auto database = Database::OpenReadOnly(options_.database);
  ASSERT_TRUE(database.ok());
  const auto read = ReadClusterStatus(*database);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->workers.at(0).devices.at(0).model, "NVIDIA H100");
}

TEST_F(ServerTest, OtherMachinesAreNotLetInWithoutCertificateAndToken) {
  ServerOptions open = options_;
  open.database = folder_ / "second.db";
  open.home = folder_ / "home";
  for (const char* address : {"0.0.0.0:0", "192.0.2.1:7470", "[::]:0"}) {
    open.listen = address;
    const Status status = CoordinatorServer::Start(open).status();
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << address;
    EXPECT_THAT(status.message(), HasSubstr("gyre certificates create --host")) << address;
    EXPECT_THAT(status.message(), HasSubstr("gyre token create")) << address;
  }
  open.listen = "127.0.0.1:0";
  open.http = "0.0.0.0:0";
  EXPECT_THAT(CoordinatorServer::Start(open).status().message(), HasSubstr("this machine only"));
  open.http.clear();
  for (const char* address :
       {"", "127.0.0.1", "127.0.0.1:", ":1", "127.0.0.1:65536", "127.0.0.1:1x"}) {
    open.listen = address;
    EXPECT_THAT(CoordinatorServer::Start(open).status().message(), HasSubstr("is not HOST:PORT"))
        << address;
  }
  EXPECT_FALSE(std::filesystem::exists(open.database));
}

TEST_F(ServerTest, ServesItsHealth) {
  ServerOptions options = options_;
  options.database = folder_ / "second.db";
  options.http = "127.0.0.1:0";
  auto server = CoordinatorServer::Start(options);
  ASSERT_TRUE(server.ok()) << server.status();
  httplib::Client client("127.0.0.1", (*server)->http_port());
  const auto healthy = client.Get("/healthz");
  ASSERT_TRUE(healthy);
  EXPECT_EQ(healthy->status, 200);
  EXPECT_EQ(healthy->body, "ok\n");
  EXPECT_EQ(client.Get("/")->status, 404);
  options.database = folder_ / "third.db";
  options.http = "127.0.0.1:" + std::to_string((*server)->http_port());
  EXPECT_EQ(CoordinatorServer::Start(options).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace gyre
