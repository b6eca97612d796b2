#pragma once

// Frequency pairs as the rows of a heat map: from the highest frequency at the top to the lowest,
// pairs that are not rotated last, with wavelengths at the right.

#include <string>
#include <utility>
#include <vector>

#include "results/plots/heat_map.h"

namespace gyre {

struct PairAxis {
  std::vector<int> order;                             // rows: the pair that each one is
  std::vector<std::pair<double, std::string>> right;  // places and texts of round wavelengths
  bool layers_agree = true;  // else the order is that of the pairs, and no wavelengths are shown
};

/// `frequencies` (columns x pairs), radians a token.
PairAxis OrderPairs(const std::vector<std::vector<double>>& frequencies);

/// Orders the panel's rows (which are pairs as they are numbered), labels them, and draws the line
/// below which pairs never complete a turn within the context.
void SetPairAxis(const std::vector<std::vector<double>>& frequencies, int context,
                 HeatMapPanel* panel);

/// What that line is.
std::string ContextLineInWords(int context);

}  // namespace gyre
