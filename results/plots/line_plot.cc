#include "results/plots/line_plot.h"

#include <algorithm>
#include <cmath>

#include "results/plots/gnuplot_text.h"

namespace gyre {
namespace {

constexpr double kWidth = 760, kAxesHeight = 330;
constexpr double kLeft = 78, kRight = 20, kBelowAxes = 60, kAboveAxes = 12, kAboveX2 = 46;
constexpr double kLegendFont = 12, kLegendLine = 18, kLegendSample = 44;
constexpr double kWidestLegend = 250;

std::string Color(const std::string& color) { return "rgb \"" + color + "\""; }

class LineDrawing {
 public:
  explicit LineDrawing(const LinePlot& spec) : spec_(spec) {
    for (const PlottedLine& line : spec.lines) {
      if (line.muted) {
        ++muted_;
      } else {
        named_.push_back(&line);
      }
    }
    // The legend reads as the lines stand at their end.
    std::stable_sort(named_.begin(), named_.end(),
                     [](auto* a, auto* b) { return a->places.back().y > b->places.back().y; });
  }

  void Draw(Plot* plot) {
    const double legend = LegendWidth();
    const double above = spec_.x2_unit > 0 ? kAboveX2 : kAboveAxes;
    const double rows = static_cast<double>(named_.size() + (muted_ > 0 ? 1 : 0));
    const double axes = std::max(kAxesHeight, rows * kLegendLine);
    const Picture picture(kWidth, above + axes + kBelowAxes, spec_.words);
    const PlotFrame frame{kLeft, picture.top() + above, kWidth - kRight - legend,
                          picture.bottom() - kBelowAxes};
    std::string script = Data() + picture.SetFrame(frame) + Axes() + Marks();
    if (legend > 0) {
      script += "set key at screen " + picture.At(frame.right + 12, frame.top) +
                " left top Left reverse samplen 2.6 spacing 1.2 width 0 " + PlotFont(kLegendFont) +
                "\n";
    } else {
      script += "unset key\n";
    }
    picture.Finish(script + Commands(), plot);
  }

 private:
  double LegendWidth() const {
    if (named_.size() + (muted_ > 0 ? 1 : 0) < 2) return 0;
    double widest = 80;
    for (const PlottedLine* line : named_) {
      widest = std::max(widest, TextWidth(line->name, kLegendFont));
    }
    return std::min(widest + kLegendSample + 12, kWidestLegend);
  }

  std::string Name(const PlottedLine& line) const {
    return FitText(line.name, kWidestLegend - kLegendSample - 12, kLegendFont);
  }

  std::string Data() const {
    std::string data;
    for (size_t i = 0; i < spec_.lines.size(); ++i) {
      data += "$line" + std::to_string(i) + " << EOD\n";
      for (const auto& place : spec_.lines[i].places) {
        const auto [low, high] = Spread(place);
        data += GnuplotNumber(place.x) + " " + GnuplotNumber(place.y) + " " + GnuplotNumber(low) +
                " " + GnuplotNumber(high) + "\n";
      }
      data += "EOD\n";
      if (spec_.lines[i].dots.empty() || !spec_.bars) continue;
      data += "$dots" + std::to_string(i) + " << EOD\n";
      for (const auto& [x, y] : spec_.lines[i].dots) {
        data += GnuplotNumber(x) + " " + GnuplotNumber(y) + "\n";
      }
      data += "EOD\n";
    }
    return data;
  }

  // gnuplot draws a band's corners that lie outside the axes at their edge.
  std::pair<double, double> Spread(const PlottedLine::Place& place) const {
    const auto& range = spec_.y_range;
    const bool outside =
        range && !spec_.bars && (place.low > range->second || place.high < range->first);
    if (outside) return {NAN, NAN};
    if (std::isfinite(place.low) && std::isfinite(place.high)) return {place.low, place.high};
    return {place.y, place.y};
  }

  std::string Axes() const {
    std::string axes = "set xlabel " + GnuplotText(spec_.x_label) + " offset 0,0.4\nset ylabel " +
                       GnuplotText(spec_.y_label) +
                       "\nset grid ytics lc rgb \"#dddddd\" lw 0.6 dt 1\n";
    if (spec_.log_x) axes += "set logscale x 2\n";
    if (spec_.tokens_axis) axes += "set format x \"%.0s%c\"\n";
    if (!spec_.x_tics.empty()) {
      axes += "set xtics (";
      for (size_t i = 0; i < spec_.x_tics.size(); ++i) {
        axes += (i > 0 ? ", " : "") + GnuplotTic(spec_.x_tics[i].second) + " " +
                GnuplotNumber(spec_.x_tics[i].first);
      }
      axes += ")\n";
    }
    axes += Range("xrange", spec_.x_range) + Range("yrange", spec_.y_range);
    if (spec_.x2_unit > 0) {
      const std::string unit = GnuplotNumber(spec_.x2_unit);
      axes += "set link x2 via x/" + unit + " inverse x*" + unit +
              "\nset x2tics\nset border 7\nset x2label " + GnuplotText(spec_.x2_label) + "\n";
    }
    if (spec_.zero_line) {
      axes +=
          "set arrow from graph 0, first 0 to graph 1, first 0 nohead lc rgb \"#000000\""
          " lw 1 back\n";
    }
    return axes;
  }

  static std::string Range(const std::string& axis,
                           const std::optional<std::pair<double, double>>& range) {
    if (!range) return "";
    return "set " + axis + " [" + GnuplotNumber(range->first) + ":" + GnuplotNumber(range->second) +
           "]\n";
  }

  std::string Marks() const {
    std::string marks;
    double row = 0.97;
    for (const LinePlot::Mark& mark : spec_.marks) {
      const std::string x = GnuplotNumber(mark.x);
      const std::string color = mark.style == -2 ? "#444444" : PlotLineColor(mark.style);
      marks += "set arrow from first " + x + ", graph 0 to first " + x +
               ", graph 1 nohead lw 1.2 dt (6,4) lc " + Color(color) + " back\nset label " +
               GnuplotText(" " + mark.text) + " at first " + x + ", graph " + GnuplotNumber(row) +
               " left front tc " + Color(color) + " " + PlotFont(11) + "\n";
      row -= 0.055;
    }
    return marks;
  }

  std::string Commands() const {
    std::vector<std::string> parts;
    for (size_t i = 0; i < spec_.lines.size(); ++i) {
      if (!spec_.lines[i].muted) continue;
      const bool first = parts.empty();
      parts.push_back("$line" + std::to_string(i) +
                      " using 1:2 with lines lc rgb \"#bbbbbb\" lw 0.8 dt 1 " +
                      (first ? "title " + GnuplotText(std::to_string(muted_) + " others")
                             : std::string("notitle")));
    }
    // Bands lie below all lines.
    for (const PlottedLine* line : named_) AddSpread(*line, &parts);
    for (const PlottedLine* line : named_) AddLine(*line, &parts);
    std::string command = "plot ";
    for (size_t i = 0; i < parts.size(); ++i) command += (i > 0 ? ", \\\n  " : "") + parts[i];
    return command + "\n";
  }

  std::string Block(const char* kind, const PlottedLine& line) const {
    return std::string("$") + kind + std::to_string(&line - spec_.lines.data());
  }

  void AddSpread(const PlottedLine& line, std::vector<std::string>* parts) const {
    const bool any = std::any_of(line.places.begin(), line.places.end(),
                                 [](auto& place) { return std::isfinite(place.low); });
    const std::string color = " lc " + Color(PlotLineColor(line.style));
    if (spec_.bars) {
      if (!line.dots.empty()) {
        parts->push_back(Block("dots", line) + " using 1:2 with points pt 6 ps 0.5 lw 0.8" + color +
                         " notitle");
      }
      if (any) {
        parts->push_back(Block("line", line) + " using 1:2:3:4 with yerrorbars pt -1 lw 1.4" +
                         color + " notitle");
      }
    } else if (any) {
      parts->push_back(Block("line", line) +
                       " using 1:3:4 with filledcurves fs transparent solid 0.18 noborder" + color +
                       " notitle");
    }
  }

  void AddLine(const PlottedLine& line, std::vector<std::string>* parts) const {
    // Some eight marks a line, whatever its length.
    const size_t interval = spec_.bars ? 1 : std::max<size_t>(1, line.places.size() / 8);
    parts->push_back(Block("line", line) + " using 1:2 with linespoints " +
                     PlotLineStyle(line.style) + " pi " + std::to_string(interval) + " title " +
                     GnuplotText(Name(line)));
    if (!line.broken) return;
    parts->push_back("\"+\" using (" + GnuplotNumber(line.broken->first) + "):(" +
                     GnuplotNumber(line.broken->second) +
                     ") every ::0::0 with points pt 2 ps 1.6 lw 2.4 lc " +
                     Color(PlotLineColor(line.style)) + " notitle");
  }

  const LinePlot& spec_;
  std::vector<const PlottedLine*> named_;
  int muted_ = 0;
};

}  // namespace

void DrawLines(const LinePlot& lines, Plot* plot) { LineDrawing(lines).Draw(plot); }

}  // namespace gyre
