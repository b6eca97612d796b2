#pragma once

// How far an analysis is: a line that is redrawn on a terminal, and nothing elsewhere. One thread.

#include "analysis/forward_pass.h"
#include "base/clock.h"
#include "cli/progress_display.h"

namespace gyre {

/// "layer 3 of 30  [###-----------------]  ETA 22s", cut at `width` (0 = no limit).
std::string AnalysisLine(const ForwardProgress& progress, Millis passed, int width);

class AnalysisDisplay {
 public:
  explicit AnalysisDisplay(const Clock& clock = Clock::Real())
      : clock_(clock), started_(clock.Now()) {}

  void Show(const ForwardProgress& progress);

 private:
  const Clock& clock_;
  ProgressDisplay display_;
  const Millis started_;
  Millis shown_{0};
};

}  // namespace gyre
