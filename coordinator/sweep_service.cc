#include "coordinator/sweep_service.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "coordinator/convert.h"
#include "coordinator/watch_reactor.h"
#include "proto/grpc_status.h"
#include "results/compare.h"
#include "results/query.h"

namespace gyre {
namespace {

Status CheckWeightsHeld(const PreparedSubmission& submission, const ObjectStore& objects) {
  for (const PreparedSweep& sweep : submission.sweeps) {
    for (const PreparedVariant& variant : sweep.variants) {
      const std::string& hash = variant.record.initial_weights;
      if (hash.empty()) continue;
      const ObjectRef ref{ObjectKind::kObject, hash};
      if (!objects.Has(ref)) {
        return FailedPrecondition(
            "the coordinator does not hold the initial weights of '" + variant.record.name + "' (" +
            hash +
            "); submit again: `gyre submit` sends those of a folder and takes a job's newest");
      }
      objects.Touch(ref);
    }
  }
  return OkStatus();
}

/// FAILED_PRECONDITION: what a job of it reads is not here, so that no worker could get it.
Status CheckHeld(const PreparedSubmission& submission, const ObjectStore& objects) {
  std::set<std::string> needed;
  for (const PreparedSweep& sweep : submission.sweeps) {
    for (const PreparedVariant& variant : sweep.variants) {
      GYRE_ASSIGN_OR_RETURN(const std::vector<TrainText> texts,
                            TrainTextsFromJson(TrainTextsJson(variant.record.train_dataset)));
      for (const TrainText& text : texts) needed.insert(text.hash);
      const Json validation = Json::parse(variant.record.validation_datasets, nullptr, false);
      for (const auto& [name, hash] : validation.items()) needed.insert(hash.get<std::string>());
    }
  }
  for (const std::string& hash : needed) {
    const ObjectRef ref{ObjectKind::kDataset, hash};
    if (objects.Has(ref)) {
      objects.Touch(ref);
      continue;
    }
    const auto known = std::find_if(submission.datasets.begin(), submission.datasets.end(),
                                    [&](const DatasetRecord& data) { return data.hash == hash; });
    const std::string name = known == submission.datasets.end() ? "" : " '" + known->name + "'";
    return FailedPrecondition("the coordinator does not hold the data set" + name + " (" + hash +
                              "); `gyre submit` sends what is missing");
  }
  return OkStatus();
}

}  // namespace

grpc::Status SweepServiceAdapter::Submit(grpc::ServerContext*, const v1::SubmitRequest* request,
                                         v1::SubmitResponse* response) {
  const Result<PreparedSubmission> submission = PrepareSubmission(
      FromProto(*request), parser_,
      [this](const std::string& sql) { return RunQuery(database_, sql, /*max_rows=*/0); });
  if (!submission.ok()) return ToGrpcStatus(submission.status());
  if (Status held = CheckHeld(*submission, objects_); !held.ok()) return ToGrpcStatus(held);
  if (Status held = CheckWeightsHeld(*submission, objects_); !held.ok()) return ToGrpcStatus(held);
  std::vector<SubmitReply> replies;
  const Status status = loop_.Do([&](const Moment& at) -> Status {
    GYRE_ASSIGN_OR_RETURN(replies, coordinator_.Submit(*submission, at));
    return OkStatus();
  });
  for (const SubmitReply& reply : replies) ToProto(reply, response->add_sweeps());
  return ToGrpcStatus(status);
}

grpc::Status SweepServiceAdapter::GetSweep(grpc::ServerContext*, const v1::GetSweepRequest* request,
                                           v1::Sweep* response) {
  SweepReply reply;
  const Status status = loop_.Read([&](const Moment&) -> Status {
    GYRE_ASSIGN_OR_RETURN(reply, coordinator_.GetSweep(request->name()));
    return OkStatus();
  });
  if (status.ok()) ToProto(reply, response);
  return ToGrpcStatus(status);
}

grpc::Status SweepServiceAdapter::GetJob(grpc::ServerContext*, const v1::GetJobRequest* request,
                                         v1::JobReport* response) {
  JobReply reply;
  const Status status = loop_.Read([&](const Moment& at) -> Status {
    GYRE_ASSIGN_OR_RETURN(reply, coordinator_.GetJob(request->job_id(), at));
    return OkStatus();
  });
  if (status.ok()) ToProto(reply, response);
  return ToGrpcStatus(status);
}

grpc::Status SweepServiceAdapter::ListSweeps(grpc::ServerContext*, const v1::ListSweepsRequest*,
                                             v1::ListSweepsResponse* response) {
  std::vector<SweepReply> replies;
  const Status status = loop_.Read([&](const Moment&) {
    replies = coordinator_.ListSweeps();
    return OkStatus();
  });
  for (const SweepReply& reply : replies) ToProto(reply, response->add_sweeps());
  return ToGrpcStatus(status);
}

grpc::Status SweepServiceAdapter::GetCluster(grpc::ServerContext*, const v1::GetClusterRequest*,
                                             v1::Cluster* response) {
  ClusterReply reply;
  const Status status = loop_.Read([&](const Moment&) {
    reply = coordinator_.GetCluster();
    return OkStatus();
  });
  if (status.ok()) ToProto(reply, response);
  return ToGrpcStatus(status);
}

grpc::Status SweepServiceAdapter::Cancel(grpc::ServerContext*, const v1::CancelRequest* request,
                                         v1::CancelResponse* response) {
  if (request->sweep().empty() == (request->job_id() == 0)) {
    return ToGrpcStatus(InvalidArgument("cancel takes a sweep or a job, one of the two"));
  }
  int canceled = 0;
  const Status status = loop_.Do([&](const Moment& at) -> Status {
    if (request->sweep().empty()) {
      GYRE_ASSIGN_OR_RETURN(canceled, coordinator_.CancelJob(request->job_id(), at));
    } else {
      GYRE_ASSIGN_OR_RETURN(canceled, coordinator_.CancelSweep(request->sweep(), at));
    }
    return OkStatus();
  });
  response->set_canceled(canceled);
  return ToGrpcStatus(status);
}

grpc::Status SweepServiceAdapter::Change(TargetCall call, const v1::TargetRequest& request,
                                         v1::TargetResponse* response) {
  const Target target{request.sweep(), request.job_id()};
  if (target.sweep.empty() == (target.job <= 0)) {
    return ToGrpcStatus(InvalidArgument("this takes a sweep or a job, one of the two"));
  }
  TargetReply reply;
  const Status status = loop_.Do([&](const Moment& at) -> Status {
    GYRE_ASSIGN_OR_RETURN(reply, (coordinator_.*call)(target, at));
    return OkStatus();
  });
  if (status.ok()) ToProto(reply, response);
  return ToGrpcStatus(status);
}

grpc::Status SweepServiceAdapter::Pause(grpc::ServerContext*, const v1::TargetRequest* request,
                                        v1::TargetResponse* response) {
  return Change(&Coordinator::Pause, *request, response);
}

grpc::Status SweepServiceAdapter::Resume(grpc::ServerContext*, const v1::TargetRequest* request,
                                         v1::TargetResponse* response) {
  return Change(&Coordinator::Resume, *request, response);
}

grpc::Status SweepServiceAdapter::Retry(grpc::ServerContext*, const v1::TargetRequest* request,
                                        v1::TargetResponse* response) {
  return Change(&Coordinator::Retry, *request, response);
}

grpc::Status SweepServiceAdapter::Compare(grpc::ServerContext*, const v1::CompareRequest* request,
                                          v1::CompareResponse* response) {
  const auto compare = [&]() -> Status {
    GYRE_ASSIGN_OR_RETURN(const Database database, Database::OpenReadOnly(database_));
    CompareOptions options;
    options.metric = request->metric();
    options.baseline = request->baseline();
    options.at_tokens = request->at_tokens();
    options.by_step = request->by_step();
    if (request->has_reach()) options.reach = request->reach();
    if (request->has_documents()) options.documents = request->documents();
    const std::vector<std::string> sweeps(request->sweeps().begin(), request->sweeps().end());
    GYRE_ASSIGN_OR_RETURN(const Comparison comparison, gyre::Compare(database, sweeps, options));
    response->set_json(ComparisonToJson(comparison));
    return OkStatus();
  };
  return ToGrpcStatus(compare());
}

grpc::Status SweepServiceAdapter::Query(grpc::ServerContext*, const v1::QueryRequest* request,
                                        v1::QueryResponse* response) {
  const Result<QueryTable> table = RunQuery(database_, request->sql(), request->max_rows());
  if (table.ok()) response->set_json(QueryTableToJson(*table));
  return ToGrpcStatus(table.status());
}

grpc::ServerWriteReactor<v1::Event>* SweepServiceAdapter::WatchEvents(
    grpc::CallbackServerContext*, const v1::WatchEventsRequest* request) {
  auto* reactor = new WatchReactor(feed_);
  const int64_t after_id = request->after_id();
  if (request->sweep().empty()) {
    reactor->Begin(after_id, std::nullopt);
    return reactor;
  }
  const auto sweep_id = std::make_shared<int64_t>(0);
  loop_.Post({[this, name = request->sweep(), sweep_id](const Moment&) -> Status {
                GYRE_ASSIGN_OR_RETURN(*sweep_id, coordinator_.FindSweepId(name));
                return OkStatus();
              },
              [reactor, after_id, sweep_id](const Status& status) {
                if (status.ok()) {
                  reactor->Begin(after_id, *sweep_id);
                } else {
                  reactor->End(status);
                }
              }});
  return reactor;
}

}  // namespace gyre
