#pragma once

// The sheet that every plot is drawn on: title, what is shown, footnotes, and rectangles for axes
// in points from the top left corner. gnuplot gets screen coordinates; the layout is computed here,
// so that a long name never lies on data. Colours: Okabe and Ito's for lines, each with a dash and
// a mark of its own; viridis for maps. Both can be told apart by colour-blind readers and in grey.

#include <string>
#include <vector>

#include "results/plots/plot.h"

namespace gyre {

inline constexpr double kPlotFont = 13;         // of axes and legends
inline constexpr double kPlotSmallFont = 11.5;  // of what stands below the title and the axes
inline constexpr char kPlotGrey[] = "#666666";

struct PlotWords {
  std::string title;
  std::string subtitle;                // what is averaged over what, what bands are
  std::vector<std::string> footnotes;  // below the axes
};

/// Points from the picture's top left corner.
struct PlotFrame {
  double left = 0, top = 0, right = 0, bottom = 0;
};

class Picture {
 public:
  /// Between title and footnotes there is room of `height` points.
  Picture(double width, double height, const PlotWords& words);

  double width() const { return width_; }
  double height() const { return height_; }
  double top() const { return top_; }        // where the room begins
  double bottom() const { return bottom_; }  // and where it ends

  /// "0.25,0.5": a point as gnuplot's screen coordinates.
  std::string At(double x, double y) const;
  /// Puts the axes of the next plot there.
  std::string SetFrame(const PlotFrame& frame) const;
  /// A text at a point of the picture; `style` like "center font ',11'". It stays until
  /// `unset label`.
  std::string Label(double x, double y, const std::string& text, const std::string& style) const;
  /// Title, subtitle and footnotes as labels, and the settings that all plots share.
  std::string Head() const;

  /// Makes the plot of the rest of the script.
  void Finish(const std::string& script, Plot* plot) const;

 private:
  PlotWords words_;
  std::vector<std::string> title_, subtitle_, footnotes_;  // in lines
  double width_, height_, top_, bottom_;
};

/// "font ..." in the family of all plots.
std::string PlotFont(double size);

/// Colour, dash and mark of the n-th line, as words of a plot command.
std::string PlotLineColor(int style);
std::string PlotLineStyle(int style);
/// Of the baseline.
inline constexpr int kBaselineStyle = -1;

/// "set palette ..." with viridis.
std::string ViridisPalette();

}  // namespace gyre
