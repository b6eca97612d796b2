#include "coordinator/worker_service.h"

#include <memory>
#include <utility>

#include "coordinator/convert.h"
#include "proto/grpc_status.h"

namespace gyre {
namespace {

/// Waits for a job, and withdraws when the worker hangs up.
class LeaseReactor final : public grpc::ServerUnaryReactor {
 public:
  LeaseReactor(Coordinator& coordinator, CommitLoop& loop, int64_t offer,
               v1::AcquireLeaseResponse* response)
      : coordinator_(coordinator), loop_(loop), offer_(offer), response_(response) {}

  void Ask(AcquireCall call) {
    const auto answer = [this, answered = answered_](const std::optional<LeaseReply>& lease) {
      if (answered->exchange(true)) return;
      if (lease) ToProto(*lease, response_->mutable_lease());
      Finish(grpc::Status::OK);
    };
    const auto refuse = [this, answered = answered_](const Status& status) {
      if (status.ok() || answered->exchange(true)) return;
      Finish(ToGrpcStatus(status));
    };
    loop_.Post({[coordinator = &coordinator_, offer = offer_, answered = answered_,
                 call = std::move(call), answer](const Moment& at) {
                  if (*answered) return OkStatus();  // canceled before it came to be asked
                  return coordinator->Acquire(offer, call, answer, at);
                },
                refuse});
  }

  void OnCancel() override {
    loop_.Post({[coordinator = &coordinator_, offer = offer_](const Moment&) {
                  coordinator->Withdraw(offer);
                  return OkStatus();
                },
                [this, answered = answered_](const Status&) {
                  if (!answered->exchange(true)) Finish(grpc::Status::CANCELLED);
                }});
  }

  void OnDone() override { delete this; }

 private:
  Coordinator& coordinator_;
  CommitLoop& loop_;
  const int64_t offer_;
  v1::AcquireLeaseResponse* const response_;
  // Whoever sets it finishes the call; for everybody else the reactor may be gone. So it lives as
  // long as the closures.
  const std::shared_ptr<std::atomic<bool>> answered_ = std::make_shared<std::atomic<bool>>(false);
};

/// Posts `run`, whose value `fill` puts into the response after the commit.
template <typename Value, typename Run, typename Fill>
void Answer(grpc::ServerUnaryReactor* reactor, CommitLoop& loop, Run run, Fill fill) {
  const auto value = std::make_shared<Value>();
  loop.Post({[run = std::move(run), value](const Moment& at) -> Status {
               GYRE_ASSIGN_OR_RETURN(*value, run(at));
               return OkStatus();
             },
             [reactor, fill = std::move(fill), value](const Status& status) {
               if (status.ok()) fill(*value);
               reactor->Finish(ToGrpcStatus(status));
             }});
}

template <typename Value, typename Run, typename Fill>
grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, CommitLoop& loop, Run run,
                                 Fill fill) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  Answer<Value>(reactor, loop, std::move(run), std::move(fill));
  return reactor;
}

}  // namespace

grpc::ServerUnaryReactor* WorkerServiceAdapter::Register(grpc::CallbackServerContext* context,
                                                         const v1::RegisterRequest* request,
                                                         v1::RegisterResponse* response) {
  return Answer<RegisterReply>(
      context, loop_,
      [this, call = FromProto(*request)](const Moment& at) {
        return coordinator_.Register(call, at);
      },
      [this, response](const RegisterReply& reply) {
        ToProto(reply, response);
        response->set_store(store_);
      });
}

grpc::ServerUnaryReactor* WorkerServiceAdapter::AcquireLease(grpc::CallbackServerContext*,
                                                             const v1::AcquireLeaseRequest* request,
                                                             v1::AcquireLeaseResponse* response) {
  auto* reactor = new LeaseReactor(coordinator_, loop_, next_offer_++, response);
  reactor->Ask(FromProto(*request));
  return reactor;
}

grpc::ServerUnaryReactor* WorkerServiceAdapter::Heartbeat(grpc::CallbackServerContext* context,
                                                          const v1::HeartbeatRequest* request,
                                                          v1::HeartbeatResponse* response) {
  const auto call = std::make_shared<const HeartbeatCall>(FromProto(*request));
  return Answer<HeartbeatReply>(
      context, loop_, [this, call](const Moment& at) { return coordinator_.Heartbeat(*call, at); },
      [call, response](const HeartbeatReply& reply) { ToProto(*call, reply, response); });
}

grpc::ServerUnaryReactor* WorkerServiceAdapter::ReportPoints(grpc::CallbackServerContext* context,
                                                             const v1::ReportPointsRequest* request,
                                                             v1::ReportPointsResponse* response) {
  // Shared, because statistics are large and the loop copies what it is given.
  const auto call = std::make_shared<const Result<ReportPointsCall>>(FromProto(*request));
  return Answer<int64_t>(
      context, loop_,
      [this, call](const Moment& at) -> Result<int64_t> {
        if (!call->ok()) return call->status();
        return coordinator_.ReportPoints(**call, at);
      },
      [response](int64_t acknowledged) { response->set_acknowledged(acknowledged); });
}

grpc::ServerUnaryReactor* WorkerServiceAdapter::ReportCheckpoint(
    grpc::CallbackServerContext* context, const v1::ReportCheckpointRequest* request,
    v1::ReportCheckpointResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto call = std::make_shared<const ReportCheckpointCall>(FromProto(*request));
  objects_.Check(call->hash, [this, reactor, call, response](const Status& held) {
    if (!held.ok()) return reactor->Finish(ToGrpcStatus(held));
    Answer<ObsoleteObjects>(
        reactor, loop_,
        [this, call](const Moment& at) { return coordinator_.ReportCheckpoint(*call, at); },
        [this, response](const ObsoleteObjects& obsolete) {
          response->mutable_obsolete()->Add(obsolete.begin(), obsolete.end());
          objects_.Delete(obsolete);
        });
  });
  return reactor;
}

grpc::ServerUnaryReactor* WorkerServiceAdapter::FinishAttempt(
    grpc::CallbackServerContext* context, const v1::FinishAttemptRequest* request,
    v1::FinishAttemptResponse* response) {
  return Answer<ObsoleteObjects>(
      context, loop_,
      [this, call = FromProto(*request)](const Moment& at) -> Result<ObsoleteObjects> {
        if (!call.ok()) return call.status();
        return coordinator_.FinishAttempt(*call, at);
      },
      [this, response](const ObsoleteObjects& obsolete) {
        response->mutable_obsolete()->Add(obsolete.begin(), obsolete.end());
        objects_.Delete(obsolete);
      });
}

}  // namespace gyre
