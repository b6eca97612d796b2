#pragma once

// The cluster and one sweep in each format, so that a sweep of a thousand jobs is read on one
// screen: its variants as rows with counts, failures that are alike in one line. CSV and Markdown
// have the rows alone: of the cluster its sweeps, of a sweep its counts.

#include <string>

#include "cli/output_format.h"
#include "results/sweep_status.h"

namespace gyre {

/// `width` as in RenderTable(). A table has at most `height` lines (0 = no limit): of variants, of
/// what runs and of failures only as much as fits, and how much was left out.
std::string RenderStatus(const SweepStatus& sweep, OutputFormat format, int width, int height);
std::string RenderStatus(const ClusterStatus& cluster, OutputFormat format, int width, int height);

}  // namespace gyre
