#include "results/plots/line_plot.h"

#include <algorithm>
#include <cmath>

#include "results/plots/gnuplot_text.h"

namespace gyre {
namespace {

constexpr double kWidth = 760, kAxesHeight = 330;
constexpr double kLeft = 80, kRight = 20, kBelowAxes = 60, kAboveAxes = 12, kAboveMarks = 24;
constexpr double kAboveX2 = 54;
constexpr size_t kMostLinesWithDots = 3;
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
    const double above = spec_.x2_unit > 0 ? kAboveX2 : HasMarkText() ? kAboveMarks : kAboveAxes;
    const double rows = static_cast<double>(named_.size() + (muted_ > 0 ? 1 : 0));
    const double axes = std::max(kAxesHeight, rows * kLegendLine);
    const Picture picture(kWidth, above + axes + kBelowAxes, spec_.words);
    const PlotFrame frame{kLeft, picture.top() + above, kWidth - kRight - legend,
                          picture.bottom() - kBelowAxes};
    std::string script = Data() + picture.SetFrame(frame) + Axes() + Marks();
    script +=
        picture.Label(20, (frame.top + frame.bottom) / 2, spec_.y_label, "center rotate by 90");
    if (spec_.x2_unit > 0) {
      script +=
          picture.Label((frame.left + frame.right) / 2, frame.top - 42, spec_.x2_label, "center");
    }
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
        data += GnuplotNumber(Dodged(spec_.lines[i], place.x)) + " " + GnuplotNumber(place.y) +
                " " + GnuplotNumber(low) + " " + GnuplotNumber(high) + "\n";
      }
      data += "EOD\n";
      if (!HasDots(spec_.lines[i])) continue;
      data += "$dots" + std::to_string(i) + " << EOD\n";
      for (const auto& [x, y] : spec_.lines[i].dots) {
        data += GnuplotNumber(Dodged(spec_.lines[i], x)) + " " + GnuplotNumber(y) + "\n";
      }
      data += "EOD\n";
    }
    return data;
  }

  /// More would lie on each other.
  bool HasDots(const PlottedLine& line) const {
    return spec_.bars && !line.dots.empty() && spec_.lines.size() <= kMostLinesWithDots;
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
    std::string axes = "set xlabel " + GnuplotText(spec_.x_label) +
                       " offset 0,0.4\nset grid ytics lc rgb \"#dddddd\" lw 0.6 dt 1\n";
    if (spec_.log_x) axes += "set logscale x 2\n";
    if (spec_.log_y) axes += "set logscale y 10\n";
    axes += Tics("xtics", spec_.x_tics) + Tics("ytics", spec_.y_tics);
    axes += Range("xrange", spec_.x_range) + Range("yrange", spec_.y_range);
    if (spec_.x2_unit > 0) axes += SecondAxis();
    if (spec_.zero_line) {
      axes +=
          "set arrow from graph 0, first 0 to graph 1, first 0 nohead lc rgb \"#000000\""
          " lw 1 back\n";
    }
    return axes;
  }

  static std::string Tics(const std::string& axis,
                          const std::vector<std::pair<double, std::string>>& tics) {
    if (tics.empty()) return "";
    std::string command = "set " + axis + " (";
    for (size_t i = 0; i < tics.size(); ++i) {
      command +=
          (i > 0 ? ", " : "") + GnuplotTic(tics[i].second) + " " + GnuplotNumber(tics[i].first);
    }
    return command + ")\n";
  }

  static std::string Range(const std::string& axis,
                           const std::optional<std::pair<double, double>>& range) {
    if (!range) return "";
    return "set " + axis + " [" + GnuplotNumber(range->first) + ":" + GnuplotNumber(range->second) +
           "]\n";
  }

  /// Tics at round shares of the unit.
  std::string SecondAxis() const {
    const double low = spec_.x_range->first / spec_.x2_unit;
    const double high = spec_.x_range->second / spec_.x2_unit;
    double step = 0.25;
    while ((high - low) / step > 9) step *= 2;
    std::string axis = "set border 7\nset x2range [" + GnuplotNumber(low) + ":" +
                       GnuplotNumber(high) + "]\nset x2tics (";
    for (int i = 0; i * step <= high; ++i) {
      const std::string place = GnuplotNumber(i * step);
      axis += (i > 0 ? ", " : "") + GnuplotTic(place) + " " + place;
    }
    return axis + ")\n";
  }

  bool HasMarkText() const {
    return std::any_of(spec_.marks.begin(), spec_.marks.end(),
                       [](auto& mark) { return !mark.text.empty(); });
  }

  std::string Marks() const {
    std::string marks;
    for (const LinePlot::Mark& mark : spec_.marks) {
      const std::string x = GnuplotNumber(mark.x);
      const std::string color = mark.style == -2 ? "#444444" : PlotLineColor(mark.style);
      marks += "set arrow from first " + x + ", graph 0 to first " + x +
               ", graph 1 nohead lw 1.2 dt (6,4) lc " + Color(color) + " back\n";
      if (mark.text.empty()) continue;
      marks += "set label " + GnuplotText(mark.text) + " at first " + x +
               ", graph 1 center offset 0,0.7 front tc " + Color(color) + " " + PlotFont(11.5) +
               "\n";
    }
    return marks;
  }

  /// Bars of several lines at one place stand side by side.
  double Dodged(const PlottedLine& line, double x) const {
    if (!spec_.bars || spec_.lines.size() < 2) return x;
    double least = INFINITY;
    for (const PlottedLine& other : spec_.lines) {
      for (size_t i = 1; i < other.places.size(); ++i) {
        least = std::min(least, Along(other.places[i].x) - Along(other.places[i - 1].x));
      }
    }
    if (!std::isfinite(least)) return x;
    const auto number = static_cast<double>(&line - spec_.lines.data());
    const auto middle = (static_cast<double>(spec_.lines.size()) - 1) / 2;
    const double shift = (number - middle) * std::min(0.05, 0.4 / (2 * middle + 1)) * least;
    return spec_.log_x ? x * std::exp2(shift) : x + shift;
  }
  double Along(double x) const { return spec_.log_x ? std::log2(x) : x; }

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
      if (HasDots(line)) {
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
    if (line.thin) {
      parts->push_back(Block("line", line) + " using 1:2 with lines lw 1 dt 1 lc " +
                       Color(PlotLineColor(line.style)) + " title " + GnuplotText(Name(line)));
      return;
    }
    // Some eight marks a line, whatever its length.
    const size_t interval = spec_.bars ? 1 : std::max<size_t>(1, line.places.size() / 8);
    parts->push_back(Block("line", line) + " using 1:2 with linespoints " +
                     PlotLineStyle(line.style) + " pi " + std::to_string(interval) + " title " +
                     GnuplotText(Name(line)));
    if (!line.broken) return;
    // Where it leaves the axes, if it does.
    const PlottedLine::Place* last = &line.places.front();
    for (const PlottedLine::Place& place : line.places) {
      if (!spec_.y_range || place.y <= spec_.y_range->second) last = &place;
    }
    parts->push_back("\"+\" using (" + GnuplotNumber(last->x) + "):(" + GnuplotNumber(last->y) +
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
