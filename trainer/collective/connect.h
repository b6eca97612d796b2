#pragma once

// The ranks of one attempt, each a process of its own, find each other and can add up.

#include <memory>
#include <string>

#include "base/status.h"
#include "trainer/collective/communicator.h"
#include "trainer/collective/rendezvous.h"

namespace gyre {

/// For memory of the backend that is so called (create_backend.h). Waits for all ranks; errors are
/// those of Rendezvous::Join. UNIMPLEMENTED: this build cannot, and why.
Result<std::unique_ptr<Communicator>> ConnectRanks(const RankOptions& options,
                                                   const std::string& backend);

}  // namespace gyre
