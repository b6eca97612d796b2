#pragma once

// The gRPC face of what people ask. Calls that may take their time (parsing a file, SQL) run on
// threads of gRPC's own, which are bounded; watching holds no thread.

#include <filesystem>

#include "coordinator/commit_loop.h"
#include "coordinator/event_feed.h"
#include "coordinator/submission.h"
#include "gyre/v1/sweep_service.grpc.pb.h"
#include "objects/object_store.h"

namespace gyre {

class SweepServiceAdapter final
    : public v1::SweepService::WithCallbackMethod_WatchEvents<v1::SweepService::Service> {
 public:
  /// All but `parser` outlive the service.
  SweepServiceAdapter(Coordinator& coordinator, CommitLoop& loop, EventFeed& feed,
                      SweepParser parser, std::filesystem::path database, ObjectStore objects)
      : coordinator_(coordinator),
        loop_(loop),
        feed_(feed),
        parser_(std::move(parser)),
        database_(std::move(database)),
        objects_(std::move(objects)) {}

  grpc::Status Submit(grpc::ServerContext* context, const v1::SubmitRequest* request,
                      v1::SubmitResponse* response) override;
  grpc::Status GetSweep(grpc::ServerContext* context, const v1::GetSweepRequest* request,
                        v1::Sweep* response) override;
  grpc::Status GetJob(grpc::ServerContext* context, const v1::GetJobRequest* request,
                      v1::JobReport* response) override;
  grpc::Status ListSweeps(grpc::ServerContext* context, const v1::ListSweepsRequest* request,
                          v1::ListSweepsResponse* response) override;
  grpc::Status GetCluster(grpc::ServerContext* context, const v1::GetClusterRequest* request,
                          v1::Cluster* response) override;
  grpc::Status Cancel(grpc::ServerContext* context, const v1::CancelRequest* request,
                      v1::CancelResponse* response) override;
  grpc::Status Pause(grpc::ServerContext* context, const v1::TargetRequest* request,
                     v1::TargetResponse* response) override;
  grpc::Status Resume(grpc::ServerContext* context, const v1::TargetRequest* request,
                      v1::TargetResponse* response) override;
  grpc::Status Retry(grpc::ServerContext* context, const v1::TargetRequest* request,
                     v1::TargetResponse* response) override;
  grpc::Status Compare(grpc::ServerContext* context, const v1::CompareRequest* request,
                       v1::CompareResponse* response) override;
  grpc::Status Query(grpc::ServerContext* context, const v1::QueryRequest* request,
                     v1::QueryResponse* response) override;
  grpc::ServerWriteReactor<v1::Event>* WatchEvents(grpc::CallbackServerContext* context,
                                                   const v1::WatchEventsRequest* request) override;

 private:
  using TargetCall = Result<TargetReply> (Coordinator::*)(const Target&, const Moment&);
  grpc::Status Change(TargetCall call, const v1::TargetRequest& request,
                      v1::TargetResponse* response);

  Coordinator& coordinator_;  // only inside calls to the loop
  CommitLoop& loop_;
  EventFeed& feed_;
  const SweepParser parser_;
  const std::filesystem::path database_;
  const ObjectStore objects_;
};

}  // namespace gyre
