#include "cli/analysis_display.h"

#include <algorithm>
#include <string>

#include "cli/text_width.h"
#include "results/numbers.h"

namespace gyre {
namespace {

constexpr Millis kRedrawEvery{200};
constexpr int kBarWidth = 20;

}  // namespace

std::string AnalysisLine(const ForwardProgress& progress, Millis passed, int width) {
  // The head counts as a layer.
  const double within =
      static_cast<double>(progress.done) / static_cast<double>(std::max<int64_t>(progress.of, 1));
  const double done = std::min((progress.layer + within) / (progress.layers + 1), 1.0);
  const auto filled = static_cast<size_t>(done * kBarWidth);
  std::string line =
      progress.layer < progress.layers
          ? "layer " + std::to_string(progress.layer + 1) + " of " + std::to_string(progress.layers)
          : "the head";
  line += "  [" + std::string(filled, '#') + std::string(kBarWidth - filled, '-') + "]";
  const double seconds = std::chrono::duration<double>(passed).count();
  if (seconds >= 1 && done > 0 && done < 1) {
    line += "  ETA " + FormatDuration(static_cast<int64_t>((1 - done) / done * seconds + 0.5));
  }
  return width > 0 ? Shorten(line, width) : line;
}

void AnalysisDisplay::Show(const ForwardProgress& progress) {
  const Millis now = clock_.Now();
  if (!display_.interactive() || now - shown_ < kRedrawEvery) return;
  shown_ = now;
  display_.Draw({AnalysisLine(progress, now - started_, display_.width())});
}

}  // namespace gyre
