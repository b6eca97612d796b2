#include "cli/job_client.h"

#include <utility>

#include "cli/coordinator_calls.h"
#include "gyre/v1/log_service.grpc.pb.h"
#include "gyre/v1/sweep_service.grpc.pb.h"

namespace gyre {
namespace {

constexpr Millis kDeadline{20000};

AttemptReport Read(const v1::AttemptReport& attempt) {
  return {.number = attempt.number(),
          .worker = attempt.worker(),
          .device = attempt.device(),
          .state = attempt.state(),
          .started_at = attempt.started_at(),
          .ended_at = attempt.ended_at(),
          .resumed_from_step = attempt.resumed_from_step(),
          .error_code = attempt.error_code(),
          .error = attempt.error(),
          .peak_memory_bytes = attempt.peak_memory_bytes(),
          .tokens_per_second = attempt.tokens_per_second(),
          .after = attempt.after(),
          .suspected_at = attempt.suspected_at()};
}

}  // namespace

struct JobClient::Connection : CoordinatorCalls {
  std::unique_ptr<v1::SweepService::Stub> sweeps;
  std::unique_ptr<v1::LogService::Stub> logs;
};

JobClient::JobClient(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}

JobClient::~JobClient() = default;

Result<std::unique_ptr<JobClient>> JobClient::Open(std::shared_ptr<CoordinatorChannel> channel) {
  auto connection = std::make_unique<Connection>();
  GYRE_ASSIGN_OR_RETURN(const auto grpc_channel, channel->Get());
  connection->channel = std::move(channel);
  connection->sweeps = v1::SweepService::NewStub(grpc_channel);
  connection->logs = v1::LogService::NewStub(grpc_channel);
  return std::unique_ptr<JobClient>(new JobClient(std::move(connection)));
}

Result<JobReport> JobClient::GetJob(int64_t id) {
  v1::GetJobRequest request;
  request.set_job_id(id);
  v1::JobReport response;
  GYRE_RETURN_IF_ERROR(connection_->Call(*connection_->sweeps, &v1::SweepService::Stub::GetJob,
                                         request, &response, kDeadline));
  JobReport report{.id = response.job_id(),
                   .sweep = response.sweep(),
                   .variant = response.variant(),
                   .seed = response.seed(),
                   .state = response.state(),
                   .reused_from = response.reused_from(),
                   .queued_at = response.queued_at(),
                   .ended_at = response.ended_at(),
                   .tokens_done = response.tokens_done(),
                   .tokens_budget = response.tokens_budget(),
                   .error = response.error(),
                   .why = response.why()};
  report.next.assign(response.next().begin(), response.next().end());
  for (const v1::AttemptReport& attempt : response.attempts()) {
    report.attempts.push_back(Read(attempt));
  }
  report.warnings.assign(response.warnings().begin(), response.warnings().end());
  return report;
}

Result<LogPiece> JobClient::ReadLog(int64_t job, int attempt, int64_t offset) {
  v1::ReadLogRequest request;
  request.set_job_id(job);
  request.set_attempt(attempt);
  request.set_offset(offset);
  v1::ReadLogResponse response;
  GYRE_RETURN_IF_ERROR(connection_->Call(*connection_->logs, &v1::LogService::Stub::Read, request,
                                         &response, kDeadline));
  return LogPiece{response.offset(), std::move(*response.mutable_data())};
}

Result<LogPiece> JobClient::ReadLastLines(int64_t job, int attempt, int lines) {
  v1::ReadLogRequest request;
  request.set_job_id(job);
  request.set_attempt(attempt);
  request.set_last_lines(lines);
  v1::ReadLogResponse response;
  GYRE_RETURN_IF_ERROR(connection_->Call(*connection_->logs, &v1::LogService::Stub::Read, request,
                                         &response, kDeadline));
  return LogPiece{response.offset(), std::move(*response.mutable_data())};
}

}  // namespace gyre
