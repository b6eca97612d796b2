#pragma once

// The gRPC face of the logs. It touches files, so its calls run on threads of gRPC's own and the
// coordinator is asked only whose attempt it is.

#include <set>
#include <string>
#include <tuple>

#include "base/mutex.h"
#include "coordinator/commit_loop.h"
#include "coordinator/log_store.h"
#include "gyre/v1/log_service.grpc.pb.h"

namespace gyre {

class LogServiceAdapter final : public v1::LogService::Service {
 public:
  /// All outlive the service.
  LogServiceAdapter(Coordinator& coordinator, CommitLoop& loop, LogStore& logs)
      : coordinator_(coordinator), loop_(loop), logs_(logs) {}

  grpc::Status Append(grpc::ServerContext* context, const v1::AppendLogRequest* request,
                      v1::AppendLogResponse* response) override;
  grpc::Status Read(grpc::ServerContext* context, const v1::ReadLogRequest* request,
                    v1::ReadLogResponse* response) override;

 private:
  Status CheckWriter(const AttemptRef& attempt);

  Coordinator& coordinator_;  // only inside calls to the loop
  CommitLoop& loop_;
  LogStore& logs_;
  Mutex mutex_;
  // Attempts whose writer was found to be right: that never changes.
  std::set<std::tuple<int64_t, int, std::string, std::string>> writers_ GYRE_GUARDED_BY(mutex_);
};

}  // namespace gyre
