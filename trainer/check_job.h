#pragma once

// What a job says of itself, looked at before anything is read or allocated.

#include "base/status.h"
#include "trainer/config/job_config.h"

namespace gyre {

/// INVALID_ARGUMENT: a job that cannot be trained or evaluated, whatever the machine; with the key.
Status CheckJob(const TrainerJob& job);

}  // namespace gyre
