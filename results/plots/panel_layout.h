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
  double before = 0, beside = 0;  // at the sheet's left and right, for labels and legends
  int columns = 0;                // 0 = as many as go well with the number of panels
};

/// Up to 12 panels.
PanelLayout LayOutPanels(size_t panels, const PanelSpacing& spacing);

}  // namespace gyre
