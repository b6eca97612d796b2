// Which lines have names, and how much of the vertical axis is worth showing.

#include <algorithm>
#include <cmath>

#include "results/comparison.h"
#include "results/numbers.h"
#include "results/plots/line_plot.h"

namespace gyre {
namespace {

constexpr size_t kMostNames = 12;
constexpr size_t kNamesOfMany = 8;

bool IsBaseline(const SeedLine& line, const SeedLines& seeds) {
  return line.variant->baseline.empty() &&
         std::any_of(seeds.lines.begin(), seeds.lines.end(), [&](const SeedLine& other) {
           return other.variant->baseline == line.variant->name;
         });
}

std::string LegendName(const SeedLine& line, const SeedLines& seeds) {
  const std::string& name = line.variant->name;
  if (!line.remark.empty()) return name + " (" + line.remark + ")";
  // Where the number of seeds differs, each line says its own.
  if (seeds.seeds.find(" to ") != std::string::npos) {
    return name + " (" + std::to_string(line.seeds) + (line.seeds == 1 ? " seed)" : " seeds)");
  }
  return name;
}

/// Which of many lines keep their names.
std::vector<bool> Chosen(const SeedLines& seeds, const std::string& metric) {
  std::vector<bool> chosen(seeds.lines.size(), seeds.lines.size() <= kMostNames);
  if (seeds.lines.size() <= kMostNames) return chosen;
  std::vector<size_t> order(seeds.lines.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const double sign = LowerIsBetter(metric) ? 1 : -1;
  const auto rank = [&](size_t i) {
    const SeedLine& line = seeds.lines[i];
    const double end = sign * line.places.back().summary.mean;
    return std::make_pair(!line.remark.empty(), end);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return rank(a) < rank(b); });
  for (size_t i = 0; i < kNamesOfMany; ++i) chosen[order[i]] = true;
  for (size_t i = 0, baselines = 0; i < seeds.lines.size() && baselines < 2; ++i) {
    if (!IsBaseline(seeds.lines[i], seeds)) continue;
    chosen[i] = true;
    ++baselines;
  }
  return chosen;
}

}  // namespace

std::vector<PlottedLine> NameLines(const SeedLines& seeds, const std::string& metric,
                                   PlotWords* words) {
  const std::vector<bool> chosen = Chosen(seeds, metric);
  std::vector<PlottedLine> lines;
  int style = 0, named = 0;
  bool black = false;
  for (size_t i = 0; i < seeds.lines.size(); ++i) {
    const SeedLine& seed_line = seeds.lines[i];
    PlottedLine line;
    line.name = LegendName(seed_line, seeds);
    line.muted = !chosen[i];
    named += chosen[i] ? 1 : 0;
    if (!line.muted) {
      const bool baseline = !black && IsBaseline(seed_line, seeds);
      black = black || baseline;
      line.style = baseline ? kBaselineStyle : style++;
    }
    for (const SeedLine::Place& place : seed_line.places) {
      line.places.push_back({place.x, place.summary.mean, place.summary.low, place.summary.high});
    }
    line.dots = seed_line.dots;
    line.broken = seed_line.remark == "diverged";
    lines.push_back(std::move(line));
  }
  if (named < static_cast<int>(lines.size())) {
    words->footnotes.push_back("Of " + std::to_string(lines.size()) + " variants, " +
                               (black ? "the baseline and " : "") + "those that end " +
                               (LowerIsBetter(metric) ? "lowest" : "highest") +
                               " have names; --variant chooses others. All are in the CSV.");
  }
  return lines;
}

std::optional<std::pair<double, double>> RangeOfEnds(const std::vector<PlottedLine>& lines,
                                                     PlotWords* words) {
  double end_x = 0;
  bool any_whole = false;
  for (const PlottedLine& line : lines) {
    end_x = std::max(end_x, line.places.back().x);
    any_whole = any_whole || !line.broken;
  }
  double low = INFINITY, high = -INFINITY, highest = -INFINITY;
  for (const PlottedLine& line : lines) {
    // How far those that diverged came is of no interest.
    const bool counts = !line.broken || !any_whole;
    for (const PlottedLine::Place& place : line.places) {
      const double bottom = std::isfinite(place.low) ? place.low : place.y;
      const double top = std::isfinite(place.high) ? place.high : place.y;
      if (counts) low = std::min(low, bottom);
      highest = std::max(highest, top);
      if (counts && place.x >= 0.1 * end_x) high = std::max(high, top);
    }
  }
  if (!(high > low) || highest - low < 2 * (high - low)) return std::nullopt;
  const double room = 0.04 * (high - low);
  words->footnotes.push_back("Values above " + FormatFixed(high + room, DecimalsFor(high - low)) +
                             " are cut off.");
  return std::make_pair(low - room, high + room);
}

std::vector<std::string> FewNotes(const std::vector<std::string>& notes, size_t most) {
  if (notes.size() <= most) return notes;
  std::vector<std::string> few(notes.begin(), notes.begin() + static_cast<ptrdiff_t>(most) - 1);
  few.push_back("and " + std::to_string(notes.size() - most + 1) + " more variants lack seeds");
  return few;
}

}  // namespace gyre
