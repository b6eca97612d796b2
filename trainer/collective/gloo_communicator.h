#pragma once

// Ranks as processes on processors, over TCP on this machine's loopback, by the gloo library; a
// build without that library has no_gloo.cc instead. Sums are gloo's messages with an order of our
// own (rank_order.h): each rank adds up its share of the numbers and sends it to everybody, which
// moves as few bytes as gloo's rings do, has the bits of ThreadCommunicators, and shows which rank
// does not answer.

#include <memory>

#include "base/status.h"
#include "trainer/collective/communicator.h"
#include "trainer/collective/rendezvous.h"

namespace gyre {

/// Connects all ranks that have come; the communicator's timeout is the rendezvous'. UNAVAILABLE:
/// one of them is gone. UNIMPLEMENTED: this build has no gloo.
Result<std::unique_ptr<Communicator>> ConnectByGloo(std::shared_ptr<Rendezvous> rendezvous);

}  // namespace gyre
