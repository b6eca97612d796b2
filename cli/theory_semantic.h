#pragma once

// gyre theory semantic-failure in two parts: all pairs, and one band by distance.

#include <string>
#include <vector>

#include "analysis/theory/semantic_head.h"
#include "cli/theory_options.h"
#include "cli/theory_result.h"

namespace gyre {

struct SemanticFailureArguments {
  HeadOptions head;
  int length = 131072;
  double distractor_norm = 0.5, distractor_angle = 90, logit = 10;
  bool random_angles = false;
  uint64_t seed = 0;
  std::string pairs;  // FIRST:END; empty = an overview of all pairs
  TheoryOutput output;
};

/// With the distractor's angle in each of these pairs, which are all that a head has.
SemanticHead SemanticHeadOf(const SemanticFailureArguments& arguments,
                            const std::vector<double>& frequencies);

/// What --pairs asks for: the margin of the target by its distance, beside NoPE's.
Result<TheoryResult> ComputeSemanticBand(const SemanticFailureArguments& arguments,
                                         const std::vector<TheoryHead>& heads);

}  // namespace gyre
