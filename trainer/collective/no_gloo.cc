#include "trainer/collective/gloo_communicator.h"

namespace gyre {

Result<std::unique_ptr<Communicator>> ConnectByGloo(std::shared_ptr<Rendezvous> /*rendezvous*/) {
  return Unimplemented(
      "this build cannot train one job in several processes: it was made without gloo; install "
      "libgloo-dev (scripts/setup does) and build again");
}

}  // namespace gyre
