#pragma once

#include <cstdint>

#include "worker/job_files.h"
#include "worker/uploader.h"

namespace gyre {

/// How an attempt of this job gives its checkpoints to the coordinator, and what becomes of those
/// that nobody needs.
UploaderOptions UploadsOf(JobFiles* files, int64_t job_id);

}  // namespace gyre
