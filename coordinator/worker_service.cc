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

/// The same for a call about an attempt: one that comes too late is told by what it is superseded.
template <typename Value, typename Run, typename Fill>
void AnswerAttempt(grpc::ServerUnaryReactor* reactor, CommitLoop& loop, Coordinator& coordinator,
                   const AttemptRef& attempt, size_t bytes, Run run, Fill fill) {
  const auto value = std::make_shared<Value>();
  const auto late = std::make_shared<std::optional<Superseded>>();
  loop.Post({.run =
                 [run = std::move(run), &coordinator, attempt, value, late](const Moment& at) {
                   Result<Value> result = run(at);
                   if (result.ok()) *value = *std::move(result);
                   late->reset();
                   if (result.status().code() == StatusCode::kFailedPrecondition) {
                     *late = coordinator.WhySuperseded(attempt);
                   }
                   return result.status();
                 },
             .done =
                 [reactor, fill = std::move(fill), value, late](const Status& status) {
                   if (status.ok()) fill(*value);
                   if (status.code() != StatusCode::kFailedPrecondition || !*late) {
                     return reactor->Finish(ToGrpcStatus(status));
                   }
                   v1::Superseded superseded;
                   ToProto(**late, &superseded);
                   reactor->Finish(ToGrpcStatus(status, superseded));
                 },
             .bytes = bytes});
}

std::vector<AttemptRef> AttemptsOf(const HeartbeatCall& call) {
  std::vector<AttemptRef> attempts;
  for (const HeldAttempt& held : call.held) {
    attempts.push_back({held.job, held.number, call.incarnation, held.epoch});
  }
  return attempts;
}

/// What to do with each, and, where that is to drop it, why.
std::vector<LeaseWord> InWords(Coordinator& coordinator, const std::vector<AttemptRef>& attempts,
                               const std::vector<WorkerDesire>& desires) {
  std::vector<LeaseWord> words;
  for (size_t i = 0; i < attempts.size(); ++i) {
    words.push_back({attempts[i], desires[i], std::nullopt});
    if (desires[i] == WorkerDesire::kDrop) {
      words.back().superseded = coordinator.WhySuperseded(attempts[i]);
    }
  }
  return words;
}

}  // namespace

grpc::ServerUnaryReactor* WorkerServiceAdapter::Register(grpc::CallbackServerContext* context,
                                                         const v1::RegisterRequest* request,
                                                         v1::RegisterResponse* response) {
  using Registered = std::pair<RegisterReply, std::vector<LeaseWord>>;
  return Answer<Registered>(
      context, loop_,
      [this, call = FromProto(*request)](const Moment& at) -> Result<Registered> {
        GYRE_ASSIGN_OR_RETURN(RegisterReply reply, coordinator_.Register(call, at));
        std::vector<AttemptRef> attempts;
        for (const LeftAttempt& left : call.left) attempts.push_back(left.attempt);
        auto words = InWords(coordinator_, attempts, reply.left);
        return Registered(std::move(reply), std::move(words));
      },
      [this, response](const Registered& registered) {
        ToProto(registered.first, response);
        for (const LeaseWord& word : registered.second) ToProto(word, response->add_left());
        response->set_store(store_);
        response->set_epoch(coordinator_.epoch());
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
  HeartbeatCall call = FromProto(*request);
  if (const auto desires = coordinator_.board().Beat(call, loop_.Now())) {
    const std::vector<LeaseWord> words = InWords(coordinator_, AttemptsOf(call), *desires);
    for (const LeaseWord& word : words) ToProto(word, response->add_desires());
    response->set_epoch(coordinator_.epoch());
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    loop_.Wake();
    return reactor;
  }
  using Words = std::vector<LeaseWord>;
  return Answer<Words>(
      context, loop_,
      [this, call = std::move(call)](const Moment& at) -> Result<Words> {
        GYRE_ASSIGN_OR_RETURN(const HeartbeatReply desires, coordinator_.Heartbeat(call, at));
        return InWords(coordinator_, AttemptsOf(call), desires);
      },
      [this, response](const Words& words) {
        for (const LeaseWord& word : words) ToProto(word, response->add_desires());
        response->set_epoch(coordinator_.epoch());
      });
}

grpc::ServerUnaryReactor* WorkerServiceAdapter::ReportPoints(grpc::CallbackServerContext* context,
                                                             const v1::ReportPointsRequest* request,
                                                             v1::ReportPointsResponse* response) {
  // Shared, because statistics are large and the loop copies what it is given.
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto call = std::make_shared<const Result<ReportPointsCall>>(FromProto(*request));
  if (!call->ok()) {
    reactor->Finish(ToGrpcStatus(call->status()));
    return reactor;
  }
  const size_t bytes = request->ByteSizeLong();
  if (!loop_.HasRoom(bytes)) {
    reactor->Finish(ToGrpcStatus(ResourceExhausted(
        "more reports wait than the coordinator keeps in memory; send this again in a while")));
    return reactor;
  }
  AnswerAttempt<int64_t>(
      reactor, loop_, coordinator_, (*call)->attempt, bytes,
      [this, call](const Moment& at) { return coordinator_.ReportPoints(**call, at); },
      [this, response](int64_t acknowledged) {
        response->set_acknowledged(acknowledged);
        response->set_pause_ms(loop_.Backlog().count());
      });
  return reactor;
}

grpc::ServerUnaryReactor* WorkerServiceAdapter::ReportCheckpoint(
    grpc::CallbackServerContext* context, const v1::ReportCheckpointRequest* request,
    v1::ReportCheckpointResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto call = std::make_shared<const ReportCheckpointCall>(FromProto(*request));
  objects_.Check(call->hash, [this, reactor, call, response](const Status& held) {
    if (!held.ok()) return reactor->Finish(ToGrpcStatus(held));
    AnswerAttempt<ObsoleteObjects>(
        reactor, loop_, coordinator_, call->attempt, /*bytes=*/0,
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
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  auto call = FromProto(*request);
  if (!call.ok()) {
    reactor->Finish(ToGrpcStatus(call.status()));
    return reactor;
  }
  // Comes before the answer, from the same thread.
  const auto next = [response](const std::optional<LeaseReply>& lease) {
    if (lease) ToProto(*lease, response->mutable_next());
  };
  AnswerAttempt<ObsoleteObjects>(
      reactor, loop_, coordinator_, call->attempt, /*bytes=*/0,
      [this, call = *call, offer = next_offer_++, next](const Moment& at) {
        return coordinator_.FinishAttempt(call, offer, next, at);
      },
      [this, response](const ObsoleteObjects& obsolete) {
        response->mutable_obsolete()->Add(obsolete.begin(), obsolete.end());
        objects_.Delete(obsolete);
      });
  return reactor;
}

}  // namespace gyre
