#pragma once

// The drawing of lines with bands or bars over seeds: legend beside the axes in the order in which
// the lines end, marks at places of the horizontal axis, a second horizontal axis.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/plots/picture.h"
#include "results/plots/seed_lines.h"

namespace gyre {

struct PlottedLine {
  struct Place {
    double x = 0, y = 0, low = 0, high = 0;  // low and high NaN: none
  };
  std::string name;
  int style = 0;       // kBaselineStyle, or a number
  bool muted = false;  // thin and grey, one of many without a name of their own
  bool thin = false;   // a line of thousands of places: no dash, no marks
  std::vector<Place> places;
  std::vector<std::pair<double, double>> dots;  // single seeds
  bool broken = false;                          // it diverged: a cross at its end
};

struct LinePlot {
  PlotWords words;
  std::string x_label, y_label;
  std::vector<std::pair<double, std::string>> x_tics, y_tics;  // empty = gnuplot's own
  bool log_x = false, log_y = false;
  bool bars = false;       // bars and marks at each place; else bands
  bool zero_line = false;  // of differences
  std::vector<PlottedLine> lines;
  struct Mark {
    double x = 0;
    std::string text;
    int style = -2;  // of the line that it belongs to; -2 = of none
  };
  std::vector<Mark> marks;  // dashed vertical lines
  double x2_unit = 0;       // the second axis has x / x2_unit; 0 = there is none
  std::string x2_label;
  std::optional<std::pair<double, double>> x_range, y_range;
};

/// Makes the script and its size; footnotes of `words` may grow by what the frame cuts off.
void DrawLines(const LinePlot& lines, Plot* plot);

/// A line each. Of more than 12, the baseline and those that end lowest (highest, where less is
/// worse) keep their names and the rest is muted; `words` then says so in the footnotes.
std::vector<PlottedLine> NameLines(const SeedLines& seeds, const std::string& metric,
                                   PlotWords* words);

/// A range that shows the end of all lines well: where the beginning of a training is far above,
/// it is cut, and the footnotes say so.
std::optional<std::pair<double, double>> RangeOfEnds(const std::vector<PlottedLine>& lines,
                                                     PlotWords* words);

/// At most `most` of them and the number of the others.
std::vector<std::string> FewNotes(const std::vector<std::string>& notes, size_t most);

}  // namespace gyre
