#include "worker/object_client.h"

#include <grpcpp/grpcpp.h>

#include <numeric>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "gyre/v1/object_service.grpc.pb.h"
#include "objects/incoming_object.h"
#include "proto/channel.h"
#include "proto/grpc_status.h"
#include "proto/object_messages.h"

namespace gyre {
namespace {

constexpr Millis kDeadline{20000};
// Of one try: a partner that has stopped dead costs this, and nothing of what it has.
constexpr Millis kTransferDeadline{600000};

/// The state of one call.
class CallContext {
 public:
  CallContext(CoordinatorChannel& channel, Millis deadline, std::stop_token stop)
      : channel_(channel), stop_(stop), cancel_(std::move(stop), Cancel{&context_}) {
    const gpr_timespec span = gpr_time_from_millis(deadline.count(), GPR_TIMESPAN);
    context_.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), span));
  }
  grpc::ClientContext* get() { return &context_; }
  Status Answer(const grpc::Status& status) const {
    if (!status.ok() && stop_.stop_requested()) return Cancelled("the transfer was broken off");
    return channel_.Explain(status);
  }

 private:
  struct Cancel {
    grpc::ClientContext* context;
    void operator()() const { context->TryCancel(); }
  };
  CoordinatorChannel& channel_;
  grpc::ClientContext context_;
  const std::stop_token stop_;
  const std::stop_callback<Cancel> cancel_;
};

int64_t BytesOf(const std::vector<ObjectFile>& files) {
  return std::accumulate(files.begin(), files.end(), int64_t{0},
                         [](int64_t sum, const ObjectFile& file) { return sum + file.bytes; });
}

int64_t BytesOf(const FileOffsets& offsets) {
  return std::accumulate(offsets.begin(), offsets.end(), int64_t{0},
                         [](int64_t sum, const auto& file) { return sum + file.second; });
}

class GrpcObjectClient : public ObjectClient {
 public:
  explicit GrpcObjectClient(std::shared_ptr<CoordinatorChannel> channel)
      : channel_(std::move(channel)) {}

  Result<std::vector<MissingRef>> FindMissing(const std::vector<ObjectRef>& refs, bool verify,
                                              std::stop_token stop) override {
    v1::FindMissingRequest request;
    for (const ObjectRef& ref : refs) ToProto(ref, request.add_refs());
    request.set_verify(verify);
    v1::FindMissingResponse response;
    GYRE_ASSIGN_OR_RETURN(const auto stub, Stub());
    CallContext call(*channel_, verify ? kTransferDeadline : kDeadline, std::move(stop));
    GYRE_RETURN_IF_ERROR(call.Answer(stub->FindMissing(call.get(), request, &response)));
    std::vector<MissingRef> missing;
    for (const v1::MissingObject& one : response.missing()) {
      GYRE_ASSIGN_OR_RETURN(ObjectRef ref, FromProto(one.ref()));
      missing.push_back({std::move(ref), FromProto(one.partial())});
    }
    return missing;
  }

  Status Put(const MissingRef& missing, const ObjectStore& from, const TransferProgress& progress,
             std::stop_token stop) override {
    GYRE_ASSIGN_OR_RETURN(const std::vector<ObjectFile> files, from.FilesOf(missing.ref));
    GYRE_ASSIGN_OR_RETURN(const auto stub, Stub());
    CallContext call(*channel_, kTransferDeadline, std::move(stop));
    v1::PutResponse response;
    const auto writer = stub->Put(call.get(), &response);
    v1::PutRequest message;
    ToProto(missing.ref, message.mutable_ref());
    ToProto(files, message.mutable_files());
    bool heard = writer->Write(message);
    message.Clear();
    FileOffsets sent = missing.partial;
    const Status read =
        from.ReadChunks(missing.ref, files, missing.partial, [&](const FileChunk& chunk) {
          ToProto(chunk, message.mutable_chunk());
          heard = heard && writer->Write(message);
          sent[chunk.file] = chunk.offset + static_cast<int64_t>(chunk.data.size());
          if (heard && progress) progress(BytesOf(sent), BytesOf(files));
          return heard;
        });
    if (!read.ok()) call.get()->TryCancel();
    if (heard) writer->WritesDone();
    const Status answer = call.Answer(writer->Finish());
    return read.ok() ? answer : read;
  }

  Status Get(const ObjectRef& ref, const ObjectStore& into, const TransferProgress& progress,
             std::stop_token stop) override {
    v1::GetRequest request;
    ToProto(ref, request.mutable_ref());
    ToProto(OffsetsOfIncoming(into, ref), request.mutable_have());
    GYRE_ASSIGN_OR_RETURN(const auto stub, Stub());
    CallContext call(*channel_, kTransferDeadline, stop);
    const auto reader = stub->Get(call.get(), request);
    v1::GetResponse message;
    if (!reader->Read(&message)) {
      const Status answer = call.Answer(reader->Finish());
      return answer.ok() ? Unavailable("the coordinator sent nothing") : answer;
    }
    Result<IncomingObject> incoming = [&]() -> Result<IncomingObject> {
      const std::vector<ObjectFile> files = FromProto(message.files());
      GYRE_ASSIGN_OR_RETURN(IncomingObject taken, IncomingObject::Open(into, ref, files));
      while (reader->Read(&message)) {
        GYRE_ASSIGN_OR_RETURN(const FileChunk chunk, FromProto(message.chunk()));
        GYRE_RETURN_IF_ERROR(taken.Append(chunk));
        if (progress) progress(BytesOf(taken.offsets()), BytesOf(files));
      }
      return taken;
    }();
    if (!incoming.ok()) call.get()->TryCancel();
    const Status answer = call.Answer(reader->Finish());
    if (!incoming.ok()) return incoming.status();
    if (!answer.ok()) return answer;
    return incoming->Finish(std::move(stop));
  }

 private:
  Result<std::unique_ptr<v1::ObjectService::Stub>> Stub() {
    GYRE_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, channel_->Get());
    return v1::ObjectService::NewStub(channel);
  }

  const std::shared_ptr<CoordinatorChannel> channel_;
};

}  // namespace

Result<std::unique_ptr<ObjectClient>> ConnectToObjects(const std::string& address,
                                                       const std::filesystem::path& home) {
  GYRE_ASSIGN_OR_RETURN(auto channel, CoordinatorChannel::Open(address, home));
  return std::unique_ptr<ObjectClient>(std::make_unique<GrpcObjectClient>(std::move(channel)));
}

}  // namespace gyre
