#include "proto/grpc_status.h"

#include "gyre/v1/status_details.pb.h"
#include "proto/protocol.h"

namespace gyre {
namespace {

// On the wire a byte of the message may take three.
constexpr size_t kMaxStatusBytes = kMaxMetadataBytes / 4;

}  // namespace

grpc::Status ToGrpcStatus(const Status& status) {
  const auto code = [&] {
    switch (status.code()) {
      case StatusCode::kOk:
        return grpc::StatusCode::OK;
      case StatusCode::kInvalidArgument:
        return grpc::StatusCode::INVALID_ARGUMENT;
      case StatusCode::kNotFound:
        return grpc::StatusCode::NOT_FOUND;
      case StatusCode::kAlreadyExists:
        return grpc::StatusCode::ALREADY_EXISTS;
      case StatusCode::kFailedPrecondition:
        return grpc::StatusCode::FAILED_PRECONDITION;
      case StatusCode::kResourceExhausted:
        return grpc::StatusCode::RESOURCE_EXHAUSTED;
      case StatusCode::kUnavailable:
        return grpc::StatusCode::UNAVAILABLE;
      case StatusCode::kDeadlineExceeded:
        return grpc::StatusCode::DEADLINE_EXCEEDED;
      case StatusCode::kCancelled:
        return grpc::StatusCode::CANCELLED;
      case StatusCode::kUnimplemented:
        return grpc::StatusCode::UNIMPLEMENTED;
      case StatusCode::kDataLoss:
        return grpc::StatusCode::DATA_LOSS;
      case StatusCode::kInternal:
        return grpc::StatusCode::INTERNAL;
    }
    return grpc::StatusCode::INTERNAL;
  }();
  return {code, status.message().substr(0, kMaxStatusBytes)};
}

grpc::Status ToGrpcStatus(const Status& status, const google::protobuf::Message& detail) {
  const grpc::Status plain = ToGrpcStatus(status);
  v1::StatusDetails details;
  details.set_code(plain.error_code());
  details.set_message(plain.error_message());
  details.add_details()->PackFrom(detail);
  return {plain.error_code(), plain.error_message(), details.SerializeAsString()};
}

bool TakeDetail(const grpc::Status& status, google::protobuf::Message* detail) {
  v1::StatusDetails details;
  if (!details.ParseFromString(status.error_details())) return false;
  for (const auto& any : details.details()) {
    if (any.UnpackTo(detail)) return true;
  }
  return false;
}

Status FromGrpcStatus(const grpc::Status& status) {
  const auto code = [&] {
    switch (status.error_code()) {
      case grpc::StatusCode::OK:
        return StatusCode::kOk;
      case grpc::StatusCode::INVALID_ARGUMENT:
      case grpc::StatusCode::OUT_OF_RANGE:
      case grpc::StatusCode::UNAUTHENTICATED:
      case grpc::StatusCode::PERMISSION_DENIED:
        return StatusCode::kInvalidArgument;
      case grpc::StatusCode::NOT_FOUND:
        return StatusCode::kNotFound;
      case grpc::StatusCode::ALREADY_EXISTS:
        return StatusCode::kAlreadyExists;
      case grpc::StatusCode::FAILED_PRECONDITION:
        return StatusCode::kFailedPrecondition;
      case grpc::StatusCode::RESOURCE_EXHAUSTED:
        return StatusCode::kResourceExhausted;
      case grpc::StatusCode::UNAVAILABLE:
      case grpc::StatusCode::ABORTED:
        return StatusCode::kUnavailable;
      case grpc::StatusCode::DEADLINE_EXCEEDED:
        return StatusCode::kDeadlineExceeded;
      case grpc::StatusCode::CANCELLED:
        return StatusCode::kCancelled;
      case grpc::StatusCode::UNIMPLEMENTED:
        return StatusCode::kUnimplemented;
      case grpc::StatusCode::DATA_LOSS:
        return StatusCode::kDataLoss;
      default:
        return StatusCode::kInternal;
    }
  }();
  return code == StatusCode::kOk ? OkStatus() : Status(code, status.error_message());
}

}  // namespace gyre
