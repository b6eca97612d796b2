#pragma once

// How far the reading of a text is: a line that is redrawn on a terminal; elsewhere a line that
// stays at every tenth of a large text. One thread.

#include <string>

#include "base/clock.h"
#include "cli/progress_display.h"
#include "trainer/data/dataset.h"

namespace gyre {

/// "tokenizing  [#####-----]  512 MB of 1.0 GB  23.1 MB/s  ETA 22s", cut at `width` (0 = no limit).
std::string ByteLine(const ByteProgress& progress, Millis passed, int width);

class ByteDisplay {
 public:
  explicit ByteDisplay(const Clock& clock = Clock::Real()) : clock_(clock) {}

  /// A sentence that stays, as Say() writes it.
  void Say(const std::string& sentence);
  void Show(const ByteProgress& progress);
  /// Says, and shows: what PrepareDataset() takes. They live no longer than the display.
  ProgressFn Sentences();
  PrepareOptions Options();

 private:
  const Clock& clock_;
  ProgressDisplay display_;
  std::string what_;
  Millis started_{0}, shown_{0};
  uint64_t last_done_ = 0, tenth_ = 0;
};

}  // namespace gyre
