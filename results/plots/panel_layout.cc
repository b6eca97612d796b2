#include "results/plots/panel_layout.h"

namespace gyre {
namespace {

int Columns(size_t panels) {
  if (panels <= 3) return static_cast<int>(panels);
  if (panels == 4) return 2;
  return panels <= 6 || panels == 9 ? 3 : 4;
}

}  // namespace

PanelLayout LayOutPanels(size_t panels, const PanelSpacing& spacing) {
  PanelLayout layout;
  layout.columns = spacing.columns > 0 ? spacing.columns : Columns(panels);
  const auto rows = (static_cast<int>(panels) + layout.columns - 1) / layout.columns;
  layout.width = panels == 1 ? 540 : layout.columns == 4 ? 900 : 760;
  const double begin = 12 + spacing.before;
  const double width = (layout.width - begin - spacing.beside) / layout.columns;
  const double axes = rows == 1 ? 320 : rows == 2 ? 240 : 200;
  const double height = spacing.above + axes + spacing.below;
  layout.height = rows * height;
  for (size_t i = 0; i < panels; ++i) {
    const double x = begin + width * static_cast<double>(static_cast<int>(i) % layout.columns);
    const double y = height * static_cast<double>(static_cast<int>(i) / layout.columns);
    layout.frames.push_back(
        {x + spacing.left, y + spacing.above, x + width - spacing.right, y + spacing.above + axes});
  }
  return layout;
}

}  // namespace gyre
