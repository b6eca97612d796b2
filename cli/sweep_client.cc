#include "cli/sweep_client.h"

#include <grpcpp/grpcpp.h>

#include <cmath>
#include <cstdlib>
#include <utility>

#include "cli/coordinator_calls.h"
#include "gyre/v1/sweep_service.grpc.pb.h"
#include "proto/channel.h"

namespace gyre {
namespace {

constexpr Millis kConnectDeadline{5000};
constexpr Millis kDeadline{20000};
constexpr Millis kSubmitDeadline{300000};  // 100,000 jobs are expanded and written
constexpr Millis kQueryDeadline{60000};

gpr_timespec Deadline(Millis span) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_millis(span.count(), GPR_TIMESPAN));
}

/// Until the first attempt has succeeded or failed: a refused connection is an answer, too.
bool IsConnected(grpc::Channel& channel) {
  const gpr_timespec deadline = Deadline(kConnectDeadline);
  while (true) {
    const grpc_connectivity_state state = channel.GetState(/*try_to_connect=*/true);
    if (state == GRPC_CHANNEL_READY) return true;
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN) return false;
    if (!channel.WaitForStateChange(state, deadline)) return false;
  }
}

RunningJobStatus Read(const v1::RunningJob& job) {
  RunningJobStatus status{.job_id = job.job_id(),
                          .sweep = job.sweep(),
                          .variant = job.variant(),
                          .seed = job.seed(),
                          .worker = job.worker(),
                          .attempt = job.attempt(),
                          .step = job.step(),
                          .tokens = job.tokens(),
                          .tokens_budget = job.tokens_budget(),
                          .tokens_per_second = job.tokens_per_second(),
                          .loss = std::nullopt};
  if (std::isfinite(job.loss())) status.loss = job.loss();
  status.suspected_at = job.suspected_at();
  return status;
}

JobCounts Read(const v1::JobCounts& jobs) {
  return {.queued = jobs.queued(),
          .running = jobs.running(),
          .succeeded = jobs.succeeded(),
          .failed = jobs.failed(),
          .stopped_early = jobs.stopped_early(),
          .canceled = jobs.canceled()};
}

SweepStatus Read(const v1::Sweep& sweep) {
  SweepStatus status;
  status.id = sweep.id();
  status.name = sweep.name();
  status.question = sweep.question();
  status.intent = sweep.intent();
  status.baseline = sweep.baseline();
  status.submitted_at = sweep.submitted_at();
  status.jobs = Read(sweep.jobs());
  status.tokens_done = sweep.tokens_done();
  status.tokens_budget = sweep.tokens_budget();
  status.last_event_id = sweep.last_event_id();
  status.waiting = sweep.waiting();
  status.pause_reason = sweep.pause_reason();
  status.problem = sweep.problem();
  status.differing_points = sweep.differing_points();
  for (const v1::VariantProgress& variant : sweep.variants()) {
    status.variants.push_back(
        {variant.variant(), Read(variant.jobs()), variant.tokens_done(), variant.tokens_budget()});
  }
  for (const v1::RunningJob& job : sweep.running()) status.running.push_back(Read(job));
  for (const v1::FailedJob& job : sweep.failures()) {
    status.failures.push_back({job.job_id(), job.variant(), job.seed(), job.error()});
  }
  for (const v1::FailedJob& job : sweep.stopped_early()) {
    status.stopped_early.push_back({job.job_id(), job.variant(), job.seed(), job.error()});
  }
  return status;
}

WorkerStatus Read(const v1::WorkerInfo& worker) {
  WorkerStatus status{.name = worker.name(),
                      .state = worker.state(),
                      .version = worker.version(),
                      .slots = worker.slots(),
                      .busy = worker.busy(),
                      .cpus = worker.cpus(),
                      .memory_bytes = worker.memory_bytes(),
                      .last_seen_at = worker.last_seen_at(),
                      .problem = worker.problem()};
  for (const v1::Device& device : worker.devices()) {
    status.devices.push_back({device.name(), device.kind(), device.model(), device.memory_bytes()});
  }
  return status;
}

WatchedEvent Read(const v1::Event& event) {
  WatchedEvent watched{.id = event.id(),
                       .kind = event.kind(),
                       .sweep_id = event.sweep_id(),
                       .job_id = event.job_id(),
                       .attempt = event.attempt(),
                       .worker = event.worker(),
                       .details = event.details(),
                       .progress = {}};
  if (event.has_progress()) watched.progress = Read(event.progress());
  return watched;
}

void Write(const DatasetInfo& info, v1::Dataset* out) {
  out->set_name(info.name);
  out->set_hash(info.hash);
  out->set_tokens(info.tokens);
  out->set_documents(info.documents);
  out->set_bytes(info.bytes);
  out->set_vocab_size(info.vocab_size);
  out->set_tokenizer(info.tokenizer);
  out->set_license(info.license);
  out->set_source(info.source);
}

}  // namespace

struct SweepClient::Connection : CoordinatorCalls {
  std::unique_ptr<v1::SweepService::Stub> stub;

  template <typename Request, typename Response>
  Status Call(grpc::Status (v1::SweepService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*),
              const Request& request, Response* response, Millis deadline) const {
    return CoordinatorCalls::Call(*stub, method, request, response, deadline);
  }
};

SweepClient::SweepClient(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {}

SweepClient::~SweepClient() = default;

const std::shared_ptr<CoordinatorChannel>& SweepClient::channel() const {
  return connection_->channel;
}

Result<std::unique_ptr<SweepClient>> SweepClient::Connect(const std::string& address) {
  auto connection = std::make_unique<Connection>();
  GYRE_ASSIGN_OR_RETURN(connection->channel, CoordinatorChannel::Open(address));
  GYRE_ASSIGN_OR_RETURN(const auto channel, connection->channel->Get());
  if (!IsConnected(*channel)) {
    const Status why = connection->channel->Look();
    if (why.code() == StatusCode::kFailedPrecondition) return Unavailable(why.message());
    return Unavailable("could not reach a coordinator at " + address +
                       (why.ok() ? "" : " (" + why.message() + ")") +
                       "; start one with 'gyre coordinator', name another with --coordinator or "
                       "GYRE_COORDINATOR, or do everything on this machine with 'gyre run'");
  }
  connection->stub = v1::SweepService::NewStub(channel);
  return std::unique_ptr<SweepClient>(new SweepClient(std::move(connection)));
}

Result<std::vector<SubmittedSweep>> SweepClient::Submit(const SweepSubmission& submission) {
  v1::SubmitRequest request;
  request.set_yaml(submission.yaml);
  request.set_file(submission.file);
  request.set_folder(submission.folder);
  request.mutable_extended()->insert(submission.extended.begin(), submission.extended.end());
  for (const auto& [key, info] : submission.datasets) {
    Write(info, &(*request.mutable_datasets())[key]);
  }
  for (const auto& [path, weights] : submission.initial_weights) {
    v1::InitialWeights& sent = (*request.mutable_initial_weights())[path];
    sent.set_hash(weights.hash);
    sent.set_bytes(weights.bytes);
    JobConfig config;
    config.model = weights.model;
    config.position = weights.position;
    sent.set_config(ToJson(config).dump());
  }
  request.set_replace(submission.replace);
  request.set_fresh(submission.fresh);
  request.set_max_jobs(submission.max_jobs);
  if (const char* user = std::getenv("USER")) request.set_submitted_by(user);
  v1::SubmitResponse response;
  GYRE_RETURN_IF_ERROR(
      connection_->Call(&v1::SweepService::Stub::Submit, request, &response, kSubmitDeadline));
  std::vector<SubmittedSweep> sweeps;
  for (const v1::SubmittedSweep& sweep : response.sweeps()) {
    sweeps.push_back({sweep.id(), sweep.name(), sweep.attached(), sweep.jobs(), sweep.reused()});
  }
  return sweeps;
}

Result<SweepStatus> SweepClient::GetSweep(const std::string& name) {
  v1::GetSweepRequest request;
  request.set_name(name);
  v1::Sweep response;
  GYRE_RETURN_IF_ERROR(
      connection_->Call(&v1::SweepService::Stub::GetSweep, request, &response, kDeadline));
  return Read(response);
}

Result<ClusterStatus> SweepClient::GetCluster() {
  v1::Cluster response;
  GYRE_RETURN_IF_ERROR(connection_->Call(&v1::SweepService::Stub::GetCluster,
                                         v1::GetClusterRequest(), &response, kDeadline));
  ClusterStatus cluster;
  for (const v1::WorkerInfo& worker : response.workers()) cluster.workers.push_back(Read(worker));
  for (const v1::Sweep& sweep : response.sweeps()) cluster.sweeps.push_back(Read(sweep));
  cluster.queued = response.queued();
  cluster.version = response.version();
  cluster.problem = response.problem();
  return cluster;
}

Status SweepClient::Watch(int64_t after_id,
                          const std::function<void(const WatchedEvent&)>& on_event,
                          std::stop_token stop) {
  grpc::ClientContext context;
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  v1::WatchEventsRequest request;
  request.set_after_id(after_id);
  const auto stream = connection_->stub->WatchEvents(&context, request);
  v1::Event event;
  while (stream->Read(&event)) on_event(Read(event));
  const grpc::Status status = stream->Finish();
  return stop.stop_requested() ? OkStatus() : connection_->Explain(status);
}

Result<TargetAnswer> SweepClient::Cancel(const SweepOrJob& target) {
  v1::CancelRequest request;
  request.set_sweep(target.sweep);
  request.set_job_id(target.job);
  v1::CancelResponse response;
  GYRE_RETURN_IF_ERROR(
      connection_->Call(&v1::SweepService::Stub::Cancel, request, &response, kDeadline));
  return TargetAnswer{.jobs = response.canceled()};
}

namespace {

template <typename Call>
Result<TargetAnswer> Change(const SweepOrJob& target, const Call& call) {
  v1::TargetRequest request;
  request.set_sweep(target.sweep);
  request.set_job_id(target.job);
  v1::TargetResponse response;
  GYRE_RETURN_IF_ERROR(call(request, &response));
  return TargetAnswer{response.jobs(), response.running(), response.note()};
}

}  // namespace

Result<TargetAnswer> SweepClient::Pause(const SweepOrJob& target) {
  return Change(target, [this](const auto& request, auto* response) {
    return connection_->Call(&v1::SweepService::Stub::Pause, request, response, kDeadline);
  });
}

Result<TargetAnswer> SweepClient::Resume(const SweepOrJob& target) {
  return Change(target, [this](const auto& request, auto* response) {
    return connection_->Call(&v1::SweepService::Stub::Resume, request, response, kDeadline);
  });
}

Result<TargetAnswer> SweepClient::Retry(const SweepOrJob& target) {
  return Change(target, [this](const auto& request, auto* response) {
    return connection_->Call(&v1::SweepService::Stub::Retry, request, response, kDeadline);
  });
}

Result<std::string> SweepClient::Compare(const std::vector<std::string>& sweeps,
                                         const CompareOptions& options) {
  v1::CompareRequest request;
  for (const std::string& sweep : sweeps) request.add_sweeps(sweep);
  request.set_metric(options.metric);
  request.set_baseline(options.baseline);
  request.set_at_tokens(options.at_tokens);
  request.set_by_step(options.by_step);
  if (options.reach) request.set_reach(*options.reach);
  if (options.documents) request.set_documents(*options.documents);
  v1::CompareResponse response;
  GYRE_RETURN_IF_ERROR(
      connection_->Call(&v1::SweepService::Stub::Compare, request, &response, kQueryDeadline));
  return std::move(*response.mutable_json());
}

Result<std::string> SweepClient::Query(const std::string& sql, int64_t max_rows) {
  v1::QueryRequest request;
  request.set_sql(sql);
  request.set_max_rows(max_rows);
  v1::QueryResponse response;
  GYRE_RETURN_IF_ERROR(
      connection_->Call(&v1::SweepService::Stub::Query, request, &response, kQueryDeadline));
  return std::move(*response.mutable_json());
}

}  // namespace gyre
