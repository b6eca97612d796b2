#include "trainer/collective/connect.h"

#include <array>
#include <utility>

#include "trainer/backend/create_backend.h"
#include "trainer/collective/gloo_communicator.h"
#include "trainer/collective/load_nccl.h"

namespace gyre {
namespace {

Status AsStatus(const BackendError& error) {
  if (error.kind == BackendError::Kind::kPeer) return Unavailable(error.message);
  return error.ok() ? OkStatus() : Internal(error.message);
}

// From rank 0 to all.
Result<std::string> ShareId(NcclPlugin* plugin, Communicator* host) {
  std::array<double, 128> bytes = {};
  if (host->rank() == 0) {
    std::string id;
    GYRE_RETURN_IF_ERROR(AsStatus(plugin->NewId(&id)));
    if (id.size() != bytes.size()) return Internal("NCCL's ids have another size than expected");
    std::copy(id.begin(), id.end(), bytes.begin());
  }
  GYRE_RETURN_IF_ERROR(AsStatus(host->Sum(bytes)));
  std::string id(bytes.size(), '\0');
  for (size_t i = 0; i < id.size(); ++i) id[i] = static_cast<char>(bytes[i]);
  return id;
}

Result<std::unique_ptr<Communicator>> ConnectGpus(const RankOptions& options, int device) {
  GYRE_ASSIGN_OR_RETURN(NcclPlugin* const plugin, LoadNcclPlugin());
  GYRE_ASSIGN_OR_RETURN(std::shared_ptr<Rendezvous> rendezvous, Rendezvous::Join(options));
  GYRE_ASSIGN_OR_RETURN(auto host, ConnectByGloo(rendezvous));
  const auto id = ShareId(plugin, host.get());
  if (!id.ok()) {
    host->Leave(id.status().ToString());
    return id.status();
  }
  NcclOptions nccl{.device = device, .id = *id, .timeout_ms = options.timeout.count()};
  nccl.who_is_gone = [rendezvous] {
    const std::string failure = rendezvous->Failure();
    return failure.empty() ? rendezvous->WhoIsGone() : failure;
  };
  std::unique_ptr<Communicator> communicator;
  const BackendError error = plugin->Connect(nccl, std::move(host), &communicator);
  if (error.ok()) return communicator;
  rendezvous->Fail("rank " + std::to_string(options.rank) + " has left: " + error.message);
  return AsStatus(error);
}

}  // namespace

Result<std::unique_ptr<Communicator>> ConnectRanks(const RankOptions& options,
                                                   const std::string& backend) {
  const int device = CudaDeviceOf(backend);
  if (device >= 0) return ConnectGpus(options, device);
  GYRE_ASSIGN_OR_RETURN(auto rendezvous, Rendezvous::Join(options));
  return ConnectByGloo(std::move(rendezvous));
}

}  // namespace gyre
