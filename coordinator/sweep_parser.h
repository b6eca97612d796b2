#pragma once

#include "coordinator/submission.h"

namespace gyre {

/// ParseSweeps, with every fault of the file in one INVALID_ARGUMENT, compiler style.
SweepParser FileParser();

}  // namespace gyre
