#include "results/plots/picture.h"

#include "results/plots/gnuplot_text.h"

namespace gyre {
namespace {

constexpr double kMargin = 14;
constexpr double kTitleFont = 15;
constexpr double kTitleLine = 20, kSmallLine = 16;

}  // namespace

Picture::Picture(double width, double height, const PlotWords& words)
    : words_(words), width_(width) {
  const double room = width - 2 * kMargin;
  // Bold text is wider.
  title_ = WrapText(words.title, room / 1.08, kTitleFont, 2);
  subtitle_ = WrapText(words.subtitle, room, kPlotSmallFont, 3);
  for (const std::string& note : words.footnotes) {
    for (const std::string& line : WrapText(note, room, kPlotSmallFont, 3)) {
      footnotes_.push_back(line);
    }
  }
  top_ = kMargin + kTitleLine * static_cast<double>(title_.size()) +
         kSmallLine * static_cast<double>(subtitle_.size());
  bottom_ = top_ + height;
  height_ = bottom_ + kSmallLine * static_cast<double>(footnotes_.size()) + kMargin;
}

std::string Picture::At(double x, double y) const {
  return GnuplotNumber(x / width_) + "," + GnuplotNumber(1 - y / height_);
}

std::string Picture::SetFrame(const PlotFrame& frame) const {
  return "set lmargin at screen " + GnuplotNumber(frame.left / width_) +
         "\nset rmargin at screen " + GnuplotNumber(frame.right / width_) +
         "\nset tmargin at screen " + GnuplotNumber(1 - frame.top / height_) +
         "\nset bmargin at screen " + GnuplotNumber(1 - frame.bottom / height_) + "\n";
}

std::string Picture::Label(double x, double y, const std::string& text,
                           const std::string& style) const {
  return "set label " + GnuplotText(text) + " at screen " + At(x, y) + " front " + style + "\n";
}

std::string Picture::Head() const {
  std::string script =
      "set encoding utf8\nset border 3 lc rgb \"#333333\" lw 1\n"
      "set tics out nomirror scale 0.6 textcolor rgb \"#222222\"\n";
  double y = kMargin + kTitleLine / 2;
  for (const std::string& line : title_) {
    script +=
        Label(kMargin, y, line, "left font \"sans-serif:Bold," + GnuplotNumber(kTitleFont) + "\"");
    y += kTitleLine;
  }
  y += (kSmallLine - kTitleLine) / 2;
  const std::string small =
      "left tc rgb \"" + std::string(kPlotGrey) + "\" " + PlotFont(kPlotSmallFont);
  for (const std::string& line : subtitle_) {
    script += Label(kMargin, y, line, small);
    y += kSmallLine;
  }
  y = bottom_ + kSmallLine / 2;
  for (const std::string& line : footnotes_) {
    script += Label(kMargin, y, line, small);
    y += kSmallLine;
  }
  return script;
}

void Picture::Finish(const std::string& script, Plot* plot) const {
  plot->title = words_.title;
  plot->script = Head() + script;
  plot->width = width_;
  plot->height = height_;
}

std::string PlotFont(double size) { return "font \"sans-serif," + GnuplotNumber(size) + "\""; }

std::string PlotLineColor(int style) {
  static const char* const kColors[] = {"#0072B2", "#D55E00", "#009E73",
                                        "#CC79A7", "#E69F00", "#56B4E9"};
  return style == kBaselineStyle ? "#000000" : kColors[style % 6];
}

std::string PlotLineStyle(int style) {
  if (style == kBaselineStyle) return "lc rgb \"#000000\" lw 2.6 dt 1 pt 7 ps 0.7";
  static const char* const kDashes[] = {"1", "(12,5)", "(4,4)", "(12,4,3,4)"};
  static const int kMarks[] = {5, 9, 11, 13, 4, 8, 10, 12, 6};
  return "lc rgb \"" + PlotLineColor(style) + "\" lw 2 dt " + kDashes[style % 4] + " pt " +
         std::to_string(kMarks[style % 9]) + " ps 0.8";
}

std::string ViridisPalette() {
  static const char* const kStops[] = {"#440154", "#48186a", "#472d7b", "#424086", "#3b528b",
                                       "#33638d", "#2c728e", "#26828e", "#21918c", "#1fa088",
                                       "#28ae80", "#3fbc73", "#5ec962", "#84d44b", "#addc30",
                                       "#d8e219", "#fde725"};
  std::string script = "set palette defined (";
  for (int i = 0; i < 17; ++i) {
    script += (i > 0 ? ", " : "") + std::to_string(i) + " \"" + kStops[i] + "\"";
  }
  return script + ")\n";
}

}  // namespace gyre
