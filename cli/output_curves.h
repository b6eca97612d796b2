#pragma once

// What a comparison says of curves: the differences step by step, and the tokens at which curves
// reach a level. In every format but JSON, which holds the whole comparison.

#include <string>

#include "cli/output_format.h"
#include "results/comparison.h"

namespace gyre {

/// `comparison.by_step` must be there; `width` as in RenderTable().
std::string RenderByStep(const Comparison& comparison, OutputFormat format, int width);

/// `comparison.reach` must be there.
std::string RenderReach(const Comparison& comparison, OutputFormat format, int width);

}  // namespace gyre
