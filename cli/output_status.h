#pragma once

// The cluster and one sweep in each format. CSV and Markdown have the rows alone: of the cluster
// its sweeps, of a sweep its counts.

#include <string>

#include "cli/output_format.h"
#include "results/sweep_status.h"

namespace gyre {

/// `width` as in RenderTable().
std::string RenderStatus(const SweepStatus& sweep, OutputFormat format, int width);
std::string RenderStatus(const ClusterStatus& cluster, OutputFormat format, int width);

}  // namespace gyre
