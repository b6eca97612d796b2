#pragma once

// The comparison in each format. JSON is what `compare` promises to scripts; a table and Markdown
// round to what the spread of the seeds makes worth reading, and say the verdict in words; CSV has
// every digit. Where the comparison was asked for curves, those take the place of the rows, but in
// JSON, which has it all.

#include <string>

#include "cli/output_format.h"
#include "cli/output_section.h"
#include "results/comparison.h"

namespace gyre {

/// The rows with their heading, verdict and notes, as people read them.
OutputSection ComparisonSection(const Comparison& comparison);

/// `width` as in RenderTable().
std::string RenderComparison(const Comparison& comparison, OutputFormat format, int width);

}  // namespace gyre
