#pragma once

// Ranks as threads of one process, over memory of the process's own: for tests, and for whoever has
// several devices in one process.

#include <memory>
#include <vector>

#include "base/clock.h"
#include "trainer/collective/communicator.h"

namespace gyre {

/// One a rank, by rank; each is one thread's. A rank waits for the others for `timeout`.
std::vector<std::unique_ptr<Communicator>> ThreadCommunicators(int ranks, Millis timeout);

}  // namespace gyre
