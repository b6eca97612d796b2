#pragma once

// What `stop_early` does not say, filled in from the variants, and what cannot work with them.
// Pure.

#include "sweeps/spec/faults.h"
#include "sweeps/spec/sweep_spec.h"

namespace gyre {

/// The sweep has a rule and its variants are expanded.
void CompleteStopEarly(SweepSpec* spec, const TextPlace& place, Faults* faults);

}  // namespace gyre
