#include "worker/coordinator_client.h"

#include <grpcpp/grpcpp.h>

#include <functional>
#include <utility>

#include "gyre/v1/log_service.grpc.pb.h"
#include "gyre/v1/worker_service.grpc.pb.h"
#include "proto/channel.h"
#include "proto/grpc_status.h"
#include "proto/protocol.h"
#include "worker/convert.h"

namespace gyre {
namespace {

// Long enough for a coordinator that is catching up on its disk; a worker that waited longer than a
// heartbeat for an answer still has its lease, because another thread renews it.
constexpr Millis kDeadline{20000};
constexpr int64_t kLeastBytesPerMilli = 64;  // of a line on which a large message may still arrive
// A renewal must fail well within a lease so that there is time for another.
constexpr Millis kHeartbeatDeadline{4000};

Desire DesireOf(v1::Desire desire) {
  switch (desire) {
    case v1::DESIRE_STOP:
      return Desire::kStop;
    case v1::DESIRE_CHECKPOINT:
      return Desire::kCheckpoint;
    case v1::DESIRE_DROP:
      return Desire::kDrop;
    default:
      return Desire::kContinue;
  }
}

LeaseDesire DesireOf(const v1::LeaseDesire& desire) {
  return {Read(desire.attempt()), DesireOf(desire.desire()), desire.superseded().why()};
}

Lease LeaseOf(const v1::Lease& lease) {
  return {.attempt = {lease.job_id(), lease.attempt(), lease.epoch()},
          .sweep = lease.sweep(),
          .variant = lease.variant(),
          .job = lease.job(),
          .checkpoint_hash = lease.checkpoint_hash(),
          .checkpoint_step = lease.checkpoint_step(),
          .cpus = lease.cpus(),
          .device = lease.device().empty() ? "cpu" : lease.device(),
          .gpus = lease.gpus()};
}

class GrpcCoordinatorClient : public CoordinatorClient {
 public:
  GrpcCoordinatorClient(std::shared_ptr<CoordinatorChannel> channel, std::string incarnation)
      : channel_(std::move(channel)), incarnation_(std::move(incarnation)) {}

  Result<Registered> Register(const Registration& registration, std::stop_token stop) override {
    v1::RegisterRequest request;
    request.set_name(registration.name);
    request.set_incarnation(incarnation_);
    request.set_protocol(kProtocolVersion);
    request.set_oldest_protocol(kOldestProtocolVersion);
    request.set_version(registration.version);
    request.set_slots(registration.slots);
    request.set_cpus(registration.cpus);
    request.set_memory_bytes(registration.memory_bytes);
    for (const DeviceInfo& device : registration.devices) {
      auto* out = request.add_devices();
      out->set_name(device.name);
      out->set_kind(device.kind);
      out->set_model(device.model);
      out->set_memory_bytes(device.memory_bytes);
    }
    for (const LeftBehind& left : registration.left) {
      auto* out = request.add_left();
      ToProto(left.attempt, out->mutable_attempt());
      out->set_step(left.step);
      if (left.outcome) out->set_outcome(ToProto(*left.outcome));
    }
    v1::RegisterResponse response;
    GYRE_RETURN_IF_ERROR(
        Call(&v1::WorkerService::Stub::Register, request, &response, kDeadline, stop));
    Registered registered{response.worker_id(),
                          Millis(response.heartbeat_ms()),
                          Millis(response.lease_ms()),
                          response.store(),
                          response.epoch(),
                          {}};
    for (const auto& desire : response.left()) registered.left.push_back(DesireOf(desire));
    return registered;
  }

  Result<std::optional<Lease>> AcquireLease(const Capacity& capacity, Millis wait,
                                            std::stop_token stop) override {
    v1::AcquireLeaseRequest request;
    request.set_incarnation(incarnation_);
    request.set_wait_ms(wait.count());
    request.set_free_slots(capacity.free_slots);
    request.set_free_cpus(capacity.free_cpus);
    request.set_free_memory_bytes(capacity.free_memory_bytes);
    request.set_device(capacity.device);
    request.mutable_free_gpus()->Assign(capacity.free_gpus.begin(), capacity.free_gpus.end());
    v1::AcquireLeaseResponse response;
    GYRE_RETURN_IF_ERROR(
        Call(&v1::WorkerService::Stub::AcquireLease, request, &response, wait + kDeadline, stop));
    if (!response.has_lease()) return std::optional<Lease>();
    return std::optional<Lease>(LeaseOf(response.lease()));
  }

  Result<HeartbeatAnswer> Heartbeat(const std::vector<HeldLease>& held, const std::string& problem,
                                    std::stop_token stop) override {
    v1::HeartbeatRequest request;
    request.set_problem(AsText(problem));
    request.set_incarnation(incarnation_);
    for (const HeldLease& lease : held) {
      auto* out = request.add_held();
      ToProto(lease.attempt, out->mutable_attempt());
      out->mutable_progress()->set_step(lease.progress.step);
      out->mutable_progress()->set_tokens(lease.progress.tokens);
      out->mutable_progress()->set_tokens_per_second(lease.progress.tokens_per_second);
      out->mutable_progress()->set_loss(lease.progress.loss);
      if (lease.outcome) out->set_outcome(ToProto(*lease.outcome));
    }
    v1::HeartbeatResponse response;
    GYRE_RETURN_IF_ERROR(
        Call(&v1::WorkerService::Stub::Heartbeat, request, &response, kHeartbeatDeadline, stop));
    HeartbeatAnswer answer{.epoch = response.epoch()};
    for (const auto& desire : response.desires()) answer.desires.push_back(DesireOf(desire));
    return answer;
  }

  Result<Millis> ReportPoints(const PointBatch& batch, std::stop_token stop) override {
    v1::ReportPointsRequest request;
    ToProto(batch, &request);
    request.set_incarnation(incarnation_);
    v1::ReportPointsResponse response;
    const auto bytes = static_cast<int64_t>(request.ByteSizeLong());
    GYRE_RETURN_IF_ERROR(CallAbout(batch.attempt, &v1::WorkerService::Stub::ReportPoints, request,
                                   &response, kDeadline + Millis(bytes / kLeastBytesPerMilli),
                                   stop));
    return Millis(response.pause_ms());
  }

  Result<std::vector<std::string>> ReportCheckpoint(const CheckpointReport& report,
                                                    std::stop_token stop) override {
    v1::ReportCheckpointRequest request;
    ToProto(report, &request);
    request.set_incarnation(incarnation_);
    v1::ReportCheckpointResponse response;
    GYRE_RETURN_IF_ERROR(CallAbout(report.attempt, &v1::WorkerService::Stub::ReportCheckpoint,
                                   request, &response, kDeadline, stop));
    return std::vector<std::string>(response.obsolete().begin(), response.obsolete().end());
  }

  Result<Finished> FinishAttempt(const AttemptEnd& end, std::stop_token stop) override {
    v1::FinishAttemptRequest request;
    ToProto(end, &request);
    request.set_incarnation(incarnation_);
    request.set_wants_next(end.wants_next);
    v1::FinishAttemptResponse response;
    GYRE_RETURN_IF_ERROR(CallAbout(end.attempt, &v1::WorkerService::Stub::FinishAttempt, request,
                                   &response, kDeadline, stop));
    Finished finished;
    finished.obsolete.assign(response.obsolete().begin(), response.obsolete().end());
    if (response.has_next()) finished.next = LeaseOf(response.next());
    return finished;
  }

  Status AppendLog(const LogChunk& chunk, std::stop_token stop) override {
    v1::AppendLogRequest request;
    request.set_job_id(chunk.attempt.job_id);
    request.set_attempt(chunk.attempt.number);
    request.set_incarnation(incarnation_);
    request.set_offset(chunk.offset);
    request.set_data(chunk.bytes);
    request.set_epoch(chunk.attempt.epoch);
    v1::AppendLogResponse response;
    return Call<v1::LogService>(&v1::LogService::Stub::Append, request, &response, kDeadline, stop);
  }

 private:
  template <typename Service, typename Request, typename Response>
  using Method = grpc::Status (Service::Stub::*)(grpc::ClientContext*, const Request&, Response*);

  /// What is refused as too late has to say what is current instead; else it is a fault, and not to
  /// be taken for that.
  template <typename Request, typename Response>
  Status CallAbout(const AttemptId& attempt, Method<v1::WorkerService, Request, Response> method,
                   const Request& request, Response* response, Millis deadline,
                   const std::stop_token& stop) {
    v1::Superseded superseded;
    bool told = false;
    Status status = Call(method, request, response, deadline, stop,
                         [&](const grpc::Status& raw) { told = TakeDetail(raw, &superseded); });
    if (status.code() != StatusCode::kFailedPrecondition) return status;
    if (told) return FailedPrecondition(superseded.why());
    return Internal("the coordinator refused a report of " + ToString(attempt) +
                    " without a word on what supersedes it: " + status.message());
  }

  template <typename Service = v1::WorkerService, typename Request, typename Response>
  Status Call(Method<Service, Request, Response> method, const Request& request, Response* response,
              Millis deadline, const std::stop_token& stop,
              const std::function<void(const grpc::Status&)>& look = nullptr) {
    GYRE_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, channel_->Get());
    const auto stub = Service::NewStub(channel);
    grpc::ClientContext context;
    const gpr_timespec span = gpr_time_from_millis(deadline.count(), GPR_TIMESPAN);
    context.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), span));
    const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
    const grpc::Status status = (stub.get()->*method)(&context, request, response);
    if (look) look(status);
    return channel_->Explain(status);
  }

  const std::shared_ptr<CoordinatorChannel> channel_;
  const std::string incarnation_;
};

}  // namespace

std::string ToString(const AttemptId& attempt) {
  return "job " + std::to_string(attempt.job_id) + " attempt " + std::to_string(attempt.number);
}

std::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kSucceeded:
      return "SUCCEEDED";
    case Outcome::kFailed:
      return "FAILED";
    case Outcome::kStopped:
      return "STOPPED";
    case Outcome::kLost:
      return "LOST";
  }
  return "UNKNOWN";
}

Result<std::unique_ptr<CoordinatorClient>> ConnectToCoordinator(const std::string& address,
                                                                const std::filesystem::path& home,
                                                                const std::string& incarnation) {
  GYRE_ASSIGN_OR_RETURN(auto channel, CoordinatorChannel::Open(address, home));
  return std::unique_ptr<CoordinatorClient>(
      std::make_unique<GrpcCoordinatorClient>(std::move(channel), incarnation));
}

}  // namespace gyre
