#pragma once

// Data sets and objects to and from a coordinator (proto/gyre/v1/object_service.proto), for workers
// and for the command line. ObjectClient is one try over the wire each; SendObject and FetchObject
// go on, from where the last try stopped, until it is done, cannot be, or is not wanted any more.
//
// All calls from any thread, several at once. Each ends soon after `stop` is requested, then with
// CANCELLED; what has been sent or has come stays.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/status.h"
#include "objects/object_store.h"

namespace gyre {

/// Bytes that the other side has (of what is sent) or that are here (of what is fetched), and bytes
/// of the whole. May be empty. Called from the calling thread.
using TransferProgress = std::function<void(int64_t done, int64_t total)>;

struct MissingRef {
  ObjectRef ref;
  FileOffsets partial;  // what the coordinator has of it already
};

class ObjectClient {
 public:
  virtual ~ObjectClient() = default;
  /// Those that the coordinator does not hold. With `verify` it reads the others, and throws away
  /// what is damaged.
  virtual Result<std::vector<MissingRef>> FindMissing(const std::vector<ObjectRef>& refs,
                                                      bool verify, std::stop_token stop) = 0;
  virtual Status Put(const MissingRef& missing, const ObjectStore& from,
                     const TransferProgress& progress, std::stop_token stop) = 0;
  virtual Status Get(const ObjectRef& ref, const ObjectStore& into,
                     const TransferProgress& progress, std::stop_token stop) = 0;
};

/// Over gRPC, on a connection of its own, so that nothing small waits behind it. Connects in the
/// background and again whenever the connection breaks; until there is one, calls fail with
/// UNAVAILABLE. Errors: CoordinatorChannel::Open (proto/channel.h).
Result<std::unique_ptr<ObjectClient>> ConnectToObjects(const std::string& address,
                                                       const std::filesystem::path& home);

/// OK: the coordinator holds it. NOT_FOUND: it is not here. DATA_LOSS: what is here is damaged.
/// Others: refused for good.
Status SendObject(ObjectClient& client, const ObjectRef& ref, const ObjectStore& from,
                  const TransferProgress& progress, std::stop_token stop);

/// OK: it is here, and is what its name says; what was here already was read for that, and a
/// damaged one is fetched anew. NOT_FOUND: the coordinator does not hold it (any more, if its copy
/// was found to be damaged). INTERNAL: its copy is whole, and what comes here is not.
/// RESOURCE_EXHAUSTED: the disk is full. Others: refused for good.
Status FetchObject(ObjectClient& client, const ObjectRef& ref, const ObjectStore& into,
                   const TransferProgress& progress, std::stop_token stop);

}  // namespace gyre
