#pragma once

// One call to a coordinator: with a deadline, its errors in the words that a person at a command
// line needs. For the clients here, which see gRPC; commands do not.

#include <grpcpp/grpcpp.h>

#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/status.h"
#include "proto/channel.h"

namespace gyre {

struct CoordinatorCalls {
  std::shared_ptr<CoordinatorChannel> channel;

  template <typename Stub, typename Request, typename Response>
  Status Call(Stub& stub,
              grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
              const Request& request, Response* response, Millis deadline) const {
    grpc::ClientContext context;
    context.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                      gpr_time_from_millis(deadline.count(), GPR_TIMESPAN)));
    return Explain((stub.*method)(&context, request, response));
  }

  Status Explain(const grpc::Status& answer) const {
    const Status status = channel->Explain(answer);
    // Nobody here cancels calls: the server ended it when it stopped.
    if (status.code() == StatusCode::kCancelled) {
      return Unavailable("the coordinator at " + channel->address() + " is shutting down");
    }
    if (status.code() == StatusCode::kDeadlineExceeded) {
      return DeadlineExceeded("the coordinator at " + channel->address() +
                              " did not answer in time");
    }
    return status;
  }
};

}  // namespace gyre
