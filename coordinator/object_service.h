#pragma once

// The gRPC face of the coordinator's data sets and objects. Files are read and written by the
// threads of the calls themselves, never by the commit thread, and only so many at a time: whoever
// comes when all are taken is told to come again, so that a flood of transfers leaves threads to
// everybody else.

#include <atomic>
#include <stop_token>

#include "gyre/v1/object_service.grpc.pb.h"
#include "objects/object_store.h"

namespace gyre {

class ObjectServiceAdapter final : public v1::ObjectService::Service {
 public:
  explicit ObjectServiceAdapter(ObjectStore store) : store_(std::move(store)) {}

  /// Breaks off what reads a whole object; from any thread.
  void Stop() { stop_.request_stop(); }

  grpc::Status FindMissing(grpc::ServerContext* context, const v1::FindMissingRequest* request,
                           v1::FindMissingResponse* response) override;
  grpc::Status Put(grpc::ServerContext* context, grpc::ServerReader<v1::PutRequest>* reader,
                   v1::PutResponse* response) override;
  grpc::Status Get(grpc::ServerContext* context, const v1::GetRequest* request,
                   grpc::ServerWriter<v1::GetResponse>* writer) override;

 private:
  grpc::Status Answer(const Status& status);
  Status Receive(grpc::ServerReader<v1::PutRequest>& reader) const;
  Status Send(const v1::GetRequest& request, grpc::ServerWriter<v1::GetResponse>& writer) const;

  const ObjectStore store_;
  std::stop_source stop_;
  std::atomic<int> transfers_{0};
  std::atomic<bool> full_{false};  // said already that the disk is
};

}  // namespace gyre
