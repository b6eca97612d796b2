#pragma once

// The drawing of heat maps: panels side by side under one colour scale or each with its own, rows
// counted from the top.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/plots/picture.h"

namespace gyre {

struct ColorScale {
  double low = 0, high = 1;
  std::string label;
};

struct HeatMapPanel {
  std::string title;
  std::vector<std::vector<double>> cells;  // [row][column]; NaN: left blank
  std::vector<std::string> columns, rows;  // their labels; where there are many, some are shown
  std::vector<std::pair<double, std::string>> right;  // labels at the right: row, text
  /// A line above row `row` from column `begin` to column `end`, both in it.
  struct Line {
    int begin = 0, end = 0, row = 0;
  };
  std::vector<Line> lines;
  std::optional<std::pair<int, int>> outlined;  // row, column
  std::vector<std::pair<int, double>> ticked;   // row, place among the columns: a short line
  std::string x_label, y_label, right_label;
  std::optional<ColorScale> scale;  // its own; else the common one
  bool square = false;              // rows as high as columns are wide
};

struct HeatMap {
  PlotWords words;
  std::vector<HeatMapPanel> panels;
  std::optional<ColorScale> scale;  // of the panels that have none of their own
  bool numbers = false;             // written into the cells
  int columns = 0;                  // of panels; 0 = as many as go well with their number
};

/// Panels beyond this many do not fit.
inline constexpr size_t kMostPanels = 12;

void DrawHeatMap(const HeatMap& map, Plot* plot);

/// From zero, or from the lowest if `from_zero` is false, to the highest of all cells.
ColorScale ScaleOf(const std::vector<HeatMapPanel>& panels, bool from_zero, std::string label);

}  // namespace gyre
