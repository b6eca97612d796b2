#pragma once

// Finds libgyre_nccl.so, which is loaded when a job runs on several GPUs.

#include "base/status.h"
#include "trainer/collective/nccl_plugin.h"

namespace gyre {

/// The plug-in, loaded once. It lies beside the program, or where GYRE_NCCL_PLUGIN says. Absent:
/// UNAVAILABLE, and why.
Result<NcclPlugin*> LoadNcclPlugin();

}  // namespace gyre
