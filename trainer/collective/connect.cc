#include "trainer/collective/connect.h"

#include <utility>

#include "trainer/backend/create_backend.h"
#include "trainer/collective/gloo_communicator.h"

namespace gyre {

Result<std::unique_ptr<Communicator>> ConnectRanks(const RankOptions& options,
                                                   const std::string& backend) {
  if (CudaDeviceOf(backend) >= 0) {
    return Unimplemented("this build cannot train one job on several GPUs: it has no NCCL");
  }
  GYRE_ASSIGN_OR_RETURN(auto rendezvous, Rendezvous::Join(options));
  return ConnectByGloo(std::move(rendezvous));
}

}  // namespace gyre
