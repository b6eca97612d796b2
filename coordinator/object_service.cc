#include "coordinator/object_service.h"

#include <optional>
#include <vector>

#include "base/log.h"
#include "objects/incoming_object.h"
#include "proto/grpc_status.h"
#include "proto/object_messages.h"

namespace gyre {
namespace {

constexpr int kMaxTransfers = 16;
constexpr int kMaxRefs = 4096;

/// One of so many places, while it lives.
class TransferPlace {
 public:
  explicit TransferPlace(std::atomic<int>& taken) : taken_(taken), number_(++taken) {}
  TransferPlace(const TransferPlace&) = delete;
  TransferPlace& operator=(const TransferPlace&) = delete;
  ~TransferPlace() { --taken_; }
  Status status() const {
    if (number_ <= kMaxTransfers) return OkStatus();
    return Unavailable("the coordinator is busy with " + std::to_string(kMaxTransfers) +
                       " transfers; try again");
  }

 private:
  std::atomic<int>& taken_;
  const int number_;
};

}  // namespace

grpc::Status ObjectServiceAdapter::FindMissing(grpc::ServerContext* context,
                                               const v1::FindMissingRequest* request,
                                               v1::FindMissingResponse* response) {
  const TransferPlace place(transfers_);
  if (request->verify() && !place.status().ok()) return ToGrpcStatus(place.status());
  if (request->refs_size() > kMaxRefs)
    return ToGrpcStatus(InvalidArgument("more than " + std::to_string(kMaxRefs) + " names"));
  for (const v1::ObjectRef& wanted : request->refs()) {
    const Result<ObjectRef> ref = FromProto(wanted);
    if (!ref.ok()) return ToGrpcStatus(ref.status());
    bool held = store_.Has(*ref);
    if (held && request->verify()) {
      if (context->IsCancelled()) return grpc::Status::CANCELLED;
      const Status status = store_.Verify(*ref, stop_.get_token());
      if (status.code() == StatusCode::kCancelled)
        return ToGrpcStatus(Unavailable("the coordinator is shutting down"));
      held = status.code() != StatusCode::kDataLoss;
      if (!held) {
        LogError(status.message() + "; it is thrown away");
        if (Status removed = store_.Remove(*ref); !removed.ok()) return ToGrpcStatus(removed);
      }
    }
    if (held) {
      store_.Touch(*ref);
      continue;
    }
    v1::MissingObject* missing = response->add_missing();
    *missing->mutable_ref() = wanted;
    ToProto(OffsetsOfIncoming(store_, *ref), missing->mutable_partial());
  }
  return grpc::Status::OK;
}

// A full disk here is nothing that the other side can do anything about but wait.
grpc::Status ObjectServiceAdapter::Answer(const Status& status) {
  const bool full = status.code() == StatusCode::kResourceExhausted;
  if (full && !full_.exchange(true)) {
    LogError(status.message() + ": data and checkpoints wait until there is room (`gyre gc`)");
  } else if (status.ok() && full_.exchange(false)) {
    LogInfo("there is room for objects again");
  }
  return ToGrpcStatus(full ? Unavailable("at the coordinator, " + status.message()) : status);
}

grpc::Status ObjectServiceAdapter::Put(grpc::ServerContext*,
                                       grpc::ServerReader<v1::PutRequest>* reader,
                                       v1::PutResponse*) {
  const TransferPlace place(transfers_);
  return Answer(place.status().ok() ? Receive(*reader) : place.status());
}

Status ObjectServiceAdapter::Receive(grpc::ServerReader<v1::PutRequest>& reader) const {
  v1::PutRequest message;
  if (!reader.Read(&message)) return InvalidArgument("nothing was sent");
  GYRE_ASSIGN_OR_RETURN(const ObjectRef ref, FromProto(message.ref()));
  if (store_.Has(ref)) {
    store_.Touch(ref);
    return OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(IncomingObject incoming,
                        IncomingObject::Open(store_, ref, FromProto(message.files())));
  while (reader.Read(&message)) {
    GYRE_ASSIGN_OR_RETURN(const FileChunk chunk, FromProto(message.chunk()));
    GYRE_RETURN_IF_ERROR(incoming.Append(chunk));
  }
  const Status status = incoming.Finish(stop_.get_token());
  if (status.code() == StatusCode::kDataLoss) LogWarning(status.message());
  return status;
}

grpc::Status ObjectServiceAdapter::Get(grpc::ServerContext*, const v1::GetRequest* request,
                                       grpc::ServerWriter<v1::GetResponse>* writer) {
  const TransferPlace place(transfers_);
  return ToGrpcStatus(place.status().ok() ? Send(*request, *writer) : place.status());
}

Status ObjectServiceAdapter::Send(const v1::GetRequest& request,
                                  grpc::ServerWriter<v1::GetResponse>& writer) const {
  GYRE_ASSIGN_OR_RETURN(const ObjectRef ref, FromProto(request.ref()));
  if (!store_.Has(ref)) return NotFound("the coordinator does not hold the " + ToString(ref));
  GYRE_ASSIGN_OR_RETURN(const std::vector<ObjectFile> files, store_.FilesOf(ref));
  v1::GetResponse message;
  ToProto(files, message.mutable_files());
  if (!writer.Write(message)) return Cancelled("the other side has hung up");
  message.Clear();
  return store_.ReadChunks(ref, files, FromProto(request.have()), [&](const FileChunk& chunk) {
    ToProto(chunk, message.mutable_chunk());
    return writer.Write(message);
  });
}

}  // namespace gyre
