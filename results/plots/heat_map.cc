#include "results/plots/heat_map.h"

#include <algorithm>
#include <cmath>

#include "results/numbers.h"
#include "results/plots/end_values.h"
#include "results/plots/gnuplot_text.h"
#include "results/plots/panel_layout.h"

namespace gyre {
namespace {

constexpr double kTicFont = 11.5, kTitleFont = 12.5;
constexpr double kBarWidth = 12, kBarRoom = 92;
constexpr double kAxisName = 18, kRightTics = 44;
// Above this gnuplot's rectangles, crisp at any size, make too large a file: then an image.
constexpr size_t kMostRectangles = 40000;

/// Where cells stand along an axis. gnuplot draws no image of a single row or column: that is two
/// halves.
std::vector<double> PlacesOf(size_t index, size_t count) {
  if (count == 1) return {-0.25, 0.25};
  return {static_cast<double>(index)};
}

std::string Cells(const HeatMapPanel& panel, size_t number) {
  std::string data = "$map" + std::to_string(number) + " << EOD\n";
  for (size_t row = 0; row < panel.cells.size(); ++row) {
    const auto& cells = panel.cells[row];
    for (const double y : PlacesOf(row, panel.cells.size())) {
      for (size_t column = 0; column < cells.size(); ++column) {
        for (const double x : PlacesOf(column, cells.size())) {
          data +=
              GnuplotNumber(x) + " " + GnuplotNumber(y) + " " + GnuplotNumber(cells[column]) + "\n";
        }
      }
    }
  }
  return data + "EOD\n";
}

/// Every how many-th label has room.
size_t TicStep(double length, size_t count, double room) {
  size_t step = 1;
  for (const size_t wide : {1, 2, 5, 10, 20, 50, 100, 200, 500}) {
    step = wide;
    if (length / static_cast<double>(count) * static_cast<double>(step) >= room) break;
  }
  return step;
}

std::string Tics(const std::string& axis, const std::vector<std::string>& labels, double length,
                 double room) {
  const size_t step = TicStep(length, std::max<size_t>(labels.size(), 1), room);
  std::string tics = "set " + axis + " (";
  bool first = true;
  for (size_t i = 0; i < labels.size(); ++i) {
    // Numbers are shown where they are round, whatever their order.
    const auto number = WholeNumber(labels[i]);
    if ((number ? static_cast<size_t>(*number) : i) % step != 0) continue;
    tics += (first ? "" : ", ") + GnuplotTic(labels[i]) + " " + std::to_string(i);
    first = false;
  }
  return tics + ") out scale 0.5 offset 0,0 " + PlotFont(kTicFont) + "\n";
}

double WidestLabel(const std::vector<std::string>& labels) {
  double widest = 0;
  for (const std::string& label : labels) widest = std::max(widest, TextWidth(label, kTicFont));
  return widest;
}

class HeatMapDrawing {
 public:
  explicit HeatMapDrawing(const HeatMap& map) : map_(map) {
    bool right = false, titles = false, own_scale = false;
    double widest = 20;
    for (const HeatMapPanel& panel : map.panels) {
      right = right || !panel.right.empty();
      titles = titles || !panel.title.empty();
      own_scale = own_scale || panel.scale.has_value();
      widest = std::max(widest, WidestLabel(panel.rows));
    }
    // Panels that are alike have their vertical axes' names once a row.
    alike_ = !own_scale;
    spacing_.left = widest + 20 + (alike_ ? 0 : kAxisName);
    spacing_.before = alike_ ? kAxisName : 0;
    spacing_.right = right ? kRightTics + (alike_ ? 0 : kAxisName) : 10;
    spacing_.beside = map.scale ? kBarRoom + (alike_ && right ? kAxisName : 0) : 0;
    if (own_scale) spacing_.right += kBarRoom + 10;
    spacing_.above = titles ? 26 : 10;
    spacing_.below = 60;
    spacing_.columns = map.columns;
    layout_ = LayOutPanels(map.panels.size(), spacing_);
  }

  void Draw(Plot* plot) {
    const Picture picture(layout_.width, layout_.height, map_.words);
    std::string script;
    size_t cells = 0;
    for (size_t i = 0; i < map_.panels.size(); ++i) {
      script += Cells(map_.panels[i], i);
      for (const auto& row : map_.panels[i].cells) cells += row.size();
    }
    image_ = cells <= kMostRectangles ? "image pixels" : "image";
    script += ViridisPalette() + "unset key\nset border 15\nset multiplot\n";
    for (size_t i = 0; i < map_.panels.size(); ++i) script += Panel(picture, i);
    picture.Finish(script + "unset multiplot\n", plot);
  }

 private:
  PlotFrame FrameOf(const Picture& picture, size_t i) const {
    PlotFrame frame = layout_.frames[i];
    frame.top += picture.top();
    frame.bottom += picture.top();
    if (map_.panels[i].square) {
      frame.bottom = frame.top + std::min(frame.bottom - frame.top, frame.right - frame.left);
    }
    return frame;
  }

  std::string Panel(const Picture& picture, size_t i) const {
    const HeatMapPanel& panel = map_.panels[i];
    const PlotFrame frame = FrameOf(picture, i);
    const size_t rows = panel.cells.size();
    const size_t columns = rows == 0 ? 0 : panel.cells.front().size();
    const double width = frame.right - frame.left, height = frame.bottom - frame.top;
    std::string script = i == 0 ? "" : "unset label\nunset arrow\nunset object\n";
    script += picture.SetFrame(frame);
    script += picture.Label((frame.left + frame.right) / 2, frame.top - 11,
                            FitText(panel.title, width + spacing_.left + kRightTics, kTitleFont),
                            "center " + PlotFont(kTitleFont));
    script += "set xrange [-0.5:" + GnuplotNumber(static_cast<double>(columns) - 0.5) +
              "]\nset yrange [" + GnuplotNumber(static_cast<double>(rows) - 0.5) + ":-0.5]\n";
    script += Tics("xtics", panel.columns, width, WidestLabel(panel.columns) + 8);
    script += Tics("ytics", panel.rows, height, 17);
    script += Right(panel, rows);
    script += AxisLabels(picture, i, frame);
    script += Lines(panel) + Outline(panel) + Scale(picture, i, frame);
    if (map_.numbers) script += Numbers(panel, width / static_cast<double>(columns));
    return script + "plot $map" + std::to_string(i) + " using 1:2:3 with " + image_ + "\n";
  }

  static std::string Right(const HeatMapPanel& panel, size_t rows) {
    if (panel.right.empty()) return "unset y2tics\n";
    std::string tics =
        "set y2range [" + GnuplotNumber(static_cast<double>(rows) - 0.5) + ":-0.5]\nset y2tics (";
    for (size_t i = 0; i < panel.right.size(); ++i) {
      tics += (i > 0 ? ", " : "") + GnuplotTic(panel.right[i].second) + " " +
              GnuplotNumber(panel.right[i].first);
    }
    return tics + ") out scale 0.5 " + PlotFont(kTicFont) + "\n";
  }

  std::string AxisLabels(const Picture& picture, size_t i, const PlotFrame& frame) const {
    const HeatMapPanel& panel = map_.panels[i];
    const double middle = (frame.top + frame.bottom) / 2;
    const std::string vertical = "center rotate by 90 " + PlotFont(kTitleFont);
    std::string labels = picture.Label((frame.left + frame.right) / 2, frame.bottom + 43,
                                       panel.x_label, "center " + PlotFont(kTitleFont));
    const auto columns = static_cast<size_t>(layout_.columns);
    if (!alike_ || i % columns == 0) {
      labels += picture.Label(frame.left - spacing_.left - spacing_.before + 10, middle,
                              panel.y_label, vertical);
    }
    if (!alike_ || i % columns == columns - 1 || i + 1 == map_.panels.size()) {
      labels += picture.Label(frame.right + kRightTics + 6, middle, panel.right_label, vertical);
    }
    return labels;
  }

  /// White below black dashes, to be seen on every colour.
  static std::string Lines(const HeatMapPanel& panel) {
    std::string lines;
    for (const HeatMapPanel::Line& line : panel.lines) {
      const std::string y = GnuplotNumber(line.row - 0.5);
      const std::string arrow = "set arrow from " + GnuplotNumber(line.begin - 0.5) + "," + y +
                                " to " + GnuplotNumber(line.end + 0.5) + "," + y + " nohead front ";
      lines += arrow + "lw 2.6 dt 1 lc rgb \"#ffffff\"\n";
      lines += arrow + "lw 2 dt (5,4) lc rgb \"#000000\"\n";
    }
    for (const auto& [row, column] : panel.ticked) {
      if (!std::isfinite(column)) continue;
      const std::string x = GnuplotNumber(column);
      // Not through the cell's number.
      for (const double begin : {row - 0.5, row + 0.28}) {
        const std::string arrow = "set arrow from " + x + "," + GnuplotNumber(begin) + " to " + x +
                                  "," + GnuplotNumber(begin + 0.22) + " nohead front ";
        lines +=
            arrow + "lw 4 dt 1 lc rgb \"#000000\"\n" + arrow + "lw 2 dt 1 lc rgb \"#ffffff\"\n";
      }
    }
    return lines;
  }

  static std::string Outline(const HeatMapPanel& panel) {
    if (!panel.outlined) return "";
    const auto [row, column] = *panel.outlined;
    return "set object rectangle from " + GnuplotNumber(column - 0.5) + "," +
           GnuplotNumber(row - 0.5) + " to " + GnuplotNumber(column + 0.5) + "," +
           GnuplotNumber(row + 0.5) + " front fs empty border lc rgb \"#D55E00\" lw 3\n";
  }

  const ColorScale& ScaleOfPanel(const HeatMapPanel& panel) const {
    return panel.scale ? *panel.scale : *map_.scale;
  }

  std::string Scale(const Picture& picture, size_t i, const PlotFrame& frame) const {
    const HeatMapPanel& panel = map_.panels[i];
    const ColorScale& scale = ScaleOfPanel(panel);
    std::string script =
        "set cbrange [" + GnuplotNumber(scale.low) + ":" + GnuplotNumber(scale.high) + "]\n";
    if (!panel.scale && i > 0) return script + "unset colorbox\n";
    const double left =
        panel.scale ? frame.right + spacing_.right - kBarRoom + 4 : layout_.width - kBarRoom + 6;
    const double height = std::min(frame.bottom - frame.top, 320.0);
    script += "set colorbox vertical user origin screen " + picture.At(left, frame.top + height) +
              " size screen " + GnuplotNumber(kBarWidth / picture.width()) + "," +
              GnuplotNumber(height / picture.height()) + " noborder\nset cbtics out scale 0.4 " +
              PlotFont(kTicFont) + "\n";
    return script + picture.Label(left + 72, frame.top + height / 2, scale.label,
                                  "center rotate by 90 " + PlotFont(kTitleFont));
  }

  std::string Numbers(const HeatMapPanel& panel, double cell_width) const {
    const ColorScale& scale = ScaleOfPanel(panel);
    const int decimals = DecimalsFor((scale.high - scale.low) / 10);
    std::string labels;
    for (size_t row = 0; row < panel.cells.size(); ++row) {
      for (size_t column = 0; column < panel.cells[row].size(); ++column) {
        const double value = panel.cells[row][column];
        const std::string text = FormatFixed(value, decimals);
        if (!std::isfinite(value) || TextWidth(text, 10.5) > cell_width) continue;
        const bool dark = value < scale.low + 0.6 * (scale.high - scale.low);
        labels += "set label " + GnuplotText(text) + " at first " + std::to_string(column) + "," +
                  std::to_string(row) + " center front tc rgb \"" + (dark ? "#ffffff" : "#000000") +
                  "\" " + PlotFont(10.5) + "\n";
      }
    }
    return labels;
  }

  const HeatMap& map_;
  PanelSpacing spacing_;
  PanelLayout layout_;
  std::string image_;
  bool alike_ = true;
};

}  // namespace

void DrawHeatMap(const HeatMap& map, Plot* plot) { HeatMapDrawing(map).Draw(plot); }

ColorScale ScaleOf(const std::vector<HeatMapPanel>& panels, bool from_zero, std::string label) {
  double low = INFINITY, high = -INFINITY;
  for (const HeatMapPanel& panel : panels) {
    for (const auto& row : panel.cells) {
      for (const double value : row) {
        if (!std::isfinite(value)) continue;
        low = std::min(low, value);
        high = std::max(high, value);
      }
    }
  }
  if (from_zero) low = std::min(low, 0.0);
  if (!std::isfinite(low) || !std::isfinite(high)) return {0, 1, std::move(label)};
  if (!(high > low)) high = low + std::max(std::abs(low) * 0.01, 1e-9);
  return {low, high, std::move(label)};
}

}  // namespace gyre
