#pragma once

// What VerifyFolder allows, as section 8 of tests/trainer/reference/README.md has it.
//
// float32: a hundred times what a plain float32 run was seen to lose. bf16 has eight significant
// bits, so an operand of a product is off by up to 2^-8 of itself, at random, and a number that has
// come through a few layers by about one percent: of a loss that is a mean over many tokens little
// is left of that (1e-3), of one token's or of a gradient's single entry a few percent. The first
// AdamW step turns every entry's sign into an update of the whole learning rate, also where the
// sign is rounding's: later losses drift apart by more with each step. Allowed is some four times
// what was seen in runs whose products had all operands and results rounded.

#include <vector>

#include "trainer/backend/backend.h"

namespace gyre {

struct Tolerances {
  double loss = 1e-5, nll = 1e-4;  // absolute
  double logits = 2e-4;            // of the row's largest
  double residual_norm = 2e-4;     // relative, as all below that say nothing else
  double total_norm = 2e-4, norm = 2e-4;
  double entries = 2e-4;  // of the largest entry
  double sum = 2e-4;      // of the parameter's norm
  // By step; the last holds for all later ones.
  std::vector<double> adamw_loss = {1e-5, 2e-4};  // absolute
  std::vector<double> adamw_gradient_norm = {2e-4};
  double adamw_norm = 2e-4;
  double adamw_entries = 1e-4;  // absolute
  double statistics = 2e-4;
};

inline Tolerances TolerancesOf(Precision precision) {
  if (precision == Precision::kFloat32) return {};
  return {.loss = 5e-3,
          .nll = 0.15,
          .logits = 0.1,
          .residual_norm = 2e-2,
          .total_norm = 1e-2,
          .norm = 4e-2,
          .entries = 0.1,
          .sum = 0.25,
          .adamw_loss = {5e-3, 3e-2, 8e-2, 0.15},
          .adamw_gradient_norm = {1e-2, 0.1, 0.3},
          .adamw_norm = 1e-2,
          .adamw_entries = 1.5e-2,
          .statistics = 2e-2};
}

}  // namespace gyre
