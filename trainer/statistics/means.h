#pragma once

// From what the model adds up to what a record says: means over all tokens, queries or seen keys of
// all sequences and ranks. Pure.

#include <vector>

#include "trainer/config/job_config.h"
#include "trainer/model/attention_sums.h"
#include "trainer/statistics/record.h"

namespace gyre {

/// One a layer, of the model's shapes: what a rank that has no sequences adds.
std::vector<AttentionSums> ZeroSums(const ModelConfig& model);

/// Adds frequency norms, logit shares and head scores to the record, as far as they are collected.
/// A mean over nothing is NaN: of all tokens but the first, say, where there is but one.
void AppendMeans(const std::vector<AttentionSums>& sums, const ModelConfig& model,
                 const StatisticsConfig& statistics, StatisticsRecord* record);

}  // namespace gyre
