#include "coordinator/log_service.h"

#include <utility>

#include "proto/grpc_status.h"

namespace gyre {
namespace {

constexpr size_t kRememberedWriters = 10000;

}  // namespace

Status LogServiceAdapter::CheckWriter(const AttemptRef& attempt) {
  const std::tuple key(attempt.job, attempt.number, attempt.incarnation, attempt.epoch);
  {
    const MutexLock lock(mutex_);
    if (writers_.contains(key)) return OkStatus();
  }
  GYRE_RETURN_IF_ERROR(
      loop_.Read([&](const Moment&) { return coordinator_.CheckLogWriter(attempt); }));
  const MutexLock lock(mutex_);
  if (writers_.size() >= kRememberedWriters) writers_.clear();
  writers_.insert(key);
  return OkStatus();
}

grpc::Status LogServiceAdapter::Append(grpc::ServerContext*, const v1::AppendLogRequest* request,
                                       v1::AppendLogResponse* response) {
  const auto append = [&]() -> Status {
    if (request->offset() < 0 || request->data().size() > kMaxLogPart) {
      return InvalidArgument("a part of a log has at most 256 KiB and no negative offset");
    }
    GYRE_RETURN_IF_ERROR(CheckWriter(
        {request->job_id(), request->attempt(), request->incarnation(), request->epoch()}));
    Result<int64_t> end =
        logs_.Append(request->job_id(), request->attempt(), request->offset(), request->data());
    // Whatever keeps a file from being written may pass.
    if (!end.ok()) return Unavailable(end.status().message());
    response->set_next_offset(*end);
    return OkStatus();
  };
  return ToGrpcStatus(append());
}

grpc::Status LogServiceAdapter::Read(grpc::ServerContext*, const v1::ReadLogRequest* request,
                                     v1::ReadLogResponse* response) {
  const auto read = [&]() -> Status {
    GYRE_RETURN_IF_ERROR(loop_.Read([&](const Moment&) {
      return coordinator_.CheckAttempt(request->job_id(), request->attempt());
    }));
    GYRE_ASSIGN_OR_RETURN(
        LogPart part,
        request->last_lines() > 0
            ? logs_.ReadLast(request->job_id(), request->attempt(), request->last_lines())
            : logs_.Read(request->job_id(), request->attempt(), request->offset()));
    response->set_offset(part.offset);
    response->set_data(std::move(part.data));
    return OkStatus();
  };
  return ToGrpcStatus(read());
}

}  // namespace gyre
