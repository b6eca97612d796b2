#pragma once

// The gRPC face of what workers say: each call becomes a struct, goes to the commit loop, and is
// answered from there. Nothing waits on a thread of gRPC's, however many workers wait for work.

#include <atomic>
#include <string>
#include <utility>

#include "coordinator/commit_loop.h"
#include "coordinator/object_keeper.h"
#include "gyre/v1/worker_service.grpc.pb.h"

namespace gyre {

class WorkerServiceAdapter final : public v1::WorkerService::CallbackService {
 public:
  /// All outlive the service. `store` names the folder of the coordinator's objects.
  WorkerServiceAdapter(Coordinator& coordinator, CommitLoop& loop, ObjectKeeper& objects,
                       std::string store)
      : coordinator_(coordinator), loop_(loop), objects_(objects), store_(std::move(store)) {}

  grpc::ServerUnaryReactor* Register(grpc::CallbackServerContext* context,
                                     const v1::RegisterRequest* request,
                                     v1::RegisterResponse* response) override;
  grpc::ServerUnaryReactor* AcquireLease(grpc::CallbackServerContext* context,
                                         const v1::AcquireLeaseRequest* request,
                                         v1::AcquireLeaseResponse* response) override;
  grpc::ServerUnaryReactor* Heartbeat(grpc::CallbackServerContext* context,
                                      const v1::HeartbeatRequest* request,
                                      v1::HeartbeatResponse* response) override;
  grpc::ServerUnaryReactor* ReportPoints(grpc::CallbackServerContext* context,
                                         const v1::ReportPointsRequest* request,
                                         v1::ReportPointsResponse* response) override;
  grpc::ServerUnaryReactor* ReportCheckpoint(grpc::CallbackServerContext* context,
                                             const v1::ReportCheckpointRequest* request,
                                             v1::ReportCheckpointResponse* response) override;
  grpc::ServerUnaryReactor* FinishAttempt(grpc::CallbackServerContext* context,
                                          const v1::FinishAttemptRequest* request,
                                          v1::FinishAttemptResponse* response) override;

 private:
  Coordinator& coordinator_;  // only inside calls to the loop
  CommitLoop& loop_;
  ObjectKeeper& objects_;
  const std::string store_;
  std::atomic<int64_t> next_offer_{1};
};

}  // namespace gyre
