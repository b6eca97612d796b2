#include "results/plots/pair_axis.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "results/numbers.h"

namespace gyre {
namespace {

bool CompletesATurn(double frequency, int context) {
  return frequency * context >= 2 * std::numbers::pi;
}

std::vector<std::pair<double, std::string>> Wavelengths(const std::vector<double>& sorted) {
  std::vector<std::pair<double, std::string>> labels;
  const auto rotated = static_cast<size_t>(
      std::count_if(sorted.begin(), sorted.end(), [](double f) { return f > 0; }));
  for (double round = 1; round < 1e12; round *= 10) {
    const double frequency = 2 * std::numbers::pi / round;
    for (size_t i = 0; i + 1 < rotated; ++i) {
      if (!(sorted[i] >= frequency && sorted[i + 1] < frequency)) continue;
      labels.emplace_back(static_cast<double>(i) +
                              std::log(sorted[i] / frequency) / std::log(sorted[i] / sorted[i + 1]),
                          FormatCount(round));
    }
  }
  if (rotated < sorted.size()) {
    labels.emplace_back((static_cast<double>(rotated + sorted.size()) - 1) / 2, "∞");
  }
  return labels;
}

}  // namespace

PairAxis OrderPairs(const std::vector<std::vector<double>>& frequencies) {
  PairAxis axis;
  if (frequencies.empty()) return axis;
  const std::vector<double>& first = frequencies.front();
  axis.order.resize(first.size());
  std::iota(axis.order.begin(), axis.order.end(), 0);
  axis.layers_agree = std::all_of(frequencies.begin(), frequencies.end(),
                                  [&](const auto& other) { return other == first; });
  if (!axis.layers_agree) return axis;
  const auto at = [&](int pair) { return first[static_cast<size_t>(pair)]; };
  std::stable_sort(axis.order.begin(), axis.order.end(),
                   [&](int a, int b) { return at(a) > at(b); });
  std::vector<double> sorted;
  for (const int pair : axis.order) sorted.push_back(at(pair));
  axis.right = Wavelengths(sorted);
  return axis;
}

void SetPairAxis(const std::vector<std::vector<double>>& frequencies, int context,
                 HeatMapPanel* panel) {
  PairAxis axis = OrderPairs(frequencies);
  if (axis.order.size() != panel->cells.size()) {  // the rotation is not known
    axis = {};
    axis.order.resize(panel->cells.size());
    std::iota(axis.order.begin(), axis.order.end(), 0);
  }
  std::vector<std::vector<double>> ordered;
  panel->rows.clear();
  for (const int pair : axis.order) {
    ordered.push_back(std::move(panel->cells[static_cast<size_t>(pair)]));
    panel->rows.push_back(std::to_string(pair));
  }
  panel->cells = std::move(ordered);
  panel->right = axis.right;
  panel->y_label = "frequency pair";
  if (!axis.right.empty()) panel->right_label = "wavelength (tokens)";
  if (axis.order.empty() || context <= 0) return;
  const size_t columns = panel->cells.front().size();
  for (size_t column = 0; column < columns; ++column) {
    const auto& of_column = frequencies.size() == columns ? frequencies[column]
                            : frequencies.empty()         ? std::vector<double>()
                                                          : frequencies.front();
    for (size_t row = 1; row < axis.order.size() && of_column.size() == axis.order.size(); ++row) {
      const double above = of_column[static_cast<size_t>(axis.order[row - 1])];
      const double below = of_column[static_cast<size_t>(axis.order[row])];
      if (CompletesATurn(above, context) == CompletesATurn(below, context)) continue;
      // One line through neighbours at the same height.
      const auto at = static_cast<int>(column), height = static_cast<int>(row);
      auto& lines = panel->lines;
      const auto before = std::find_if(lines.begin(), lines.end(), [&](auto& line) {
        return line.row == height && line.end == at - 1;
      });
      if (before != lines.end()) {
        before->end = at;
      } else {
        lines.push_back({at, at, height});
      }
    }
  }
}

std::string ContextLineInWords(int context) {
  return "Dashed: pairs below it never complete a turn within the context (" +
         std::to_string(context) + " tokens). ∞: not rotated.";
}

}  // namespace gyre
