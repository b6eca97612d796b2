#pragma once

// Variants that differ in position.p alone (and, for the grid, in theta): what plots over p draw.

#include <set>
#include <string>
#include <vector>

#include "results/plots/plotted_sweep.h"

namespace gyre {

struct PVariant {
  double p = 0;
  const PlottedVariant* variant = nullptr;
};

struct PSeries {
  std::string name;  // what tells it from the others: "theta=10k context=512"; empty: it is alone
  double theta = 0;
  int context = 0;
  bool plain = true;               // p keeps the fastest pairs of theta's own ladder, in all layers
  std::vector<PVariant> variants;  // by growing p

  /// ln(L / 2 pi) / ln(theta): the share of the pairs that complete a turn within the context. NaN
  /// where the ladder is another one.
  double PStar() const;
};

/// All that are in them.
std::set<const PlottedVariant*> VariantsOf(const std::vector<PSeries>& series);

/// Series with at least two values of p. NoPE is p = 0 of each that has none of its own. What
/// belongs to none is named in `left_out`.
std::vector<PSeries> FindPSeries(const PlottedSweep& sweep, std::vector<std::string>* left_out);

}  // namespace gyre
