#pragma once

// Where the axes of several panels stand on one sheet.

#include <cstddef>
#include <vector>

#include "results/plots/picture.h"

namespace gyre {

struct PanelLayout {
  int columns = 1;
  double width = 0, height = 0;   // of the sheet's room
  std::vector<PlotFrame> frames;  // relative to the room's top left corner
};

struct PanelSpacing {
  double left = 44, right = 14, above = 24, below = 44;  // around each panel's axes
  double beside = 0;                                     // at the sheet's right, for a legend
};

/// Up to 12 panels.
PanelLayout LayOutPanels(size_t panels, const PanelSpacing& spacing);

}  // namespace gyre
