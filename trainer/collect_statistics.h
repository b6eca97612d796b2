#pragma once

// Statistics of a model in training: what its heads do with the frequencies, on fixed windows of a
// validation set (docs/statistics.md). Nothing is drawn, and the model stays as it is.

#include <cstdint>

#include "base/status.h"
#include "trainer/config/job_config.h"
#include "trainer/data/windows.h"
#include "trainer/model/model.h"
#include "trainer/ranks.h"
#include "trainer/statistics/record.h"

namespace gyre {

/// What config.statistics names, after `step`, whose encoding the model has; `rows` at a time.
/// Every rank takes its share of the windows, and gets the means of all; norms and attention of
/// single tokens are rank 0's alone. `windows` are of data.context.
Result<StatisticsRecord> CollectStatistics(const JobConfig& config, int64_t step,
                                           const Windows& windows, int rows, const Ranks& ranks,
                                           Model* model);

}  // namespace gyre
