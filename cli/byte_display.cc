#include "cli/byte_display.h"

#include <algorithm>

#include "cli/object_transfer.h"
#include "cli/text_width.h"
#include "results/numbers.h"
#include "trainer/pretrained/tokenizer_of.h"

namespace gyre {
namespace {

constexpr Millis kRedrawEvery{200};
constexpr uint64_t kLargeBytes = 100'000'000;  // smaller texts are done before anybody wonders
constexpr int kBarWidth = 20;

}  // namespace

std::string ByteLine(const ByteProgress& progress, Millis passed, int width) {
  const double total = static_cast<double>(std::max<uint64_t>(progress.total, 1));
  const double done = std::min(static_cast<double>(progress.done), total);
  const auto filled = static_cast<size_t>(done / total * kBarWidth);
  std::string line = progress.what + "  [" + std::string(filled, '#') +
                     std::string(kBarWidth - filled, '-') + "]  " +
                     BytesInWords(static_cast<int64_t>(done)) + " of " +
                     BytesInWords(static_cast<int64_t>(total));
  const double seconds = std::chrono::duration<double>(passed).count();
  if (seconds >= 1 && done > 0) {
    line += "  " + BytesInWords(static_cast<int64_t>(done / seconds)) + "/s";
    if (done < total) {
      line +=
          "  ETA " + FormatDuration(static_cast<int64_t>((total - done) / done * seconds + 0.5));
    }
  }
  return width > 0 ? Shorten(line, width) : line;
}

void ByteDisplay::Say(const std::string& sentence) {
  display_.Clear();
  display_.Print("gyre: " + sentence);
}

void ByteDisplay::Show(const ByteProgress& progress) {
  const Millis now = clock_.Now();
  const bool is_new = progress.what != what_ || progress.done < last_done_;
  if (is_new) {
    what_ = progress.what;
    started_ = now;
    tenth_ = 0;
  }
  last_done_ = progress.done;
  if (display_.interactive()) {
    if (!is_new && now - shown_ < kRedrawEvery) return;
    shown_ = now;
    display_.Draw({ByteLine(progress, now - started_, display_.width())});
    return;
  }
  const uint64_t tenth = progress.total == 0 ? 0 : progress.done * 10 / progress.total;
  if (progress.total < kLargeBytes || tenth <= tenth_) return;
  tenth_ = tenth;
  display_.Print("gyre: " + ByteLine(progress, now - started_, 0));
}

ProgressFn ByteDisplay::Sentences() {
  return [this](const std::string& sentence) { Say(sentence); };
}

PrepareOptions ByteDisplay::Options() {
  return {.on_bytes = [this](const ByteProgress& progress) { Show(progress); },
          .open_tokenizer = OpenNamedTokenizer};
}

}  // namespace gyre
