#pragma once

// Why nothing happens, in words: the scheduler's own predicates, said to people. Pure.

#include <string>
#include <vector>

#include "coordinator/scheduler.h"
#include "coordinator/store/records.h"
#include "sweeps/spec/sweep_spec.h"

namespace gyre {

/// What the worker would offer if nothing ran on it.
OfferView WholeOffer(const WorkerRecord& worker);

/// Why no worker can ever take a job with these needs, as the workers are now; empty if one could
/// once it is free. "no worker is connected", "a job needs 8 cpus, and the largest worker has 2".
std::string WhyNoneFits(const Resources& needs, const std::vector<const WorkerRecord*>& workers);

}  // namespace gyre
