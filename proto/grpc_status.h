#pragma once

// Our Status and gRPC's, in both directions: the one place where they meet, for services and
// clients alike.

#include <google/protobuf/message.h>
#include <grpcpp/support/status.h>

#include "base/status.h"

namespace gyre {

/// What a service answers.
grpc::Status ToGrpcStatus(const Status& status);

/// With a message of ours beside the code, for programs (gyre/v1/status_details.proto).
grpc::Status ToGrpcStatus(const Status& status, const google::protobuf::Message& detail);
/// Fills in `detail` if the status brings one of that type.
bool TakeDetail(const grpc::Status& status, google::protobuf::Message* detail);

/// What a client gets. Codes that we don't have become the nearest of ours by what a caller should
/// do: ABORTED is UNAVAILABLE (send again), OUT_OF_RANGE and the refusals of access are
/// INVALID_ARGUMENT (sending again won't help), the rest INTERNAL.
Status FromGrpcStatus(const grpc::Status& status);

}  // namespace gyre
