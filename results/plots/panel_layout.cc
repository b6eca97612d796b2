#include "results/plots/panel_layout.h"

namespace gyre {
namespace {

int Columns(size_t panels) {
  if (panels <= 3) return static_cast<int>(panels);
  if (panels == 4) return 2;
  if (panels <= 6 || panels == 9) return 3;
  return 4;
}

}  // namespace

PanelLayout LayOutPanels(size_t panels, const PanelSpacing& spacing) {
  PanelLayout layout;
  layout.columns = Columns(panels);
  const auto rows = (static_cast<int>(panels) + layout.columns - 1) / layout.columns;
  layout.width = panels == 1 ? 520 : 760;
  const double width = (layout.width - 12 - spacing.beside) / layout.columns;
  const double axes = rows == 1 ? 320 : rows == 2 ? 230 : 190;
  const double height = spacing.above + axes + spacing.below;
  layout.height = rows * height;
  for (size_t i = 0; i < panels; ++i) {
    const double x = 12 + width * static_cast<double>(static_cast<int>(i) % layout.columns);
    const double y = height * static_cast<double>(static_cast<int>(i) / layout.columns);
    layout.frames.push_back(
        {x + spacing.left, y + spacing.above, x + width - spacing.right, y + spacing.above + axes});
  }
  return layout;
}

}  // namespace gyre
