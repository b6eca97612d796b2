#include "trainer/data/windows.h"

#include <algorithm>
#include <utility>

namespace gyre {

Result<Windows> Windows::Create(const Dataset* dataset, int context) {
  if (context < 1) return InvalidArgument("data.context must be at least 1");
  Windows windows(dataset, context);
  const size_t documents = dataset->document_starts().size();
  std::vector<int64_t>& first_window = windows.first_window_;
  first_window.resize(documents + 1);
  for (size_t d = 0; d < documents; ++d) {
    const Text text = windows.TextOf(d);
    const int64_t length = text.end - text.start;
    first_window[d + 1] = first_window[d] + (length + context - 1) / context;
    windows.full_ += length / context;
    windows.longest_document_ = std::max(windows.longest_document_, length);
  }
  if (first_window.back() == 0) {
    return InvalidArgument("the validation set " + dataset->info().name + " (" +
                           dataset->info().source + ") has no text to evaluate on");
  }
  return windows;
}

int64_t Windows::SampleCount(int64_t tokens) const {
  const auto wanted = static_cast<__int128>(std::max<int64_t>(tokens, 0)) * count();
  const auto windows = static_cast<int64_t>((wanted + targets() - 1) / targets());
  return std::clamp<int64_t>(windows, 1, count());
}

int64_t Windows::WindowAt(int64_t sample, int64_t i) const {
  return static_cast<int64_t>(static_cast<__int128>(i) * count() / sample);
}

size_t Windows::DocumentWith(int64_t window) const {
  const auto after = std::upper_bound(first_window_.begin(), first_window_.end(), window);
  return static_cast<size_t>(after - first_window_.begin()) - 1;
}

Windows::Text Windows::TextOf(size_t document) const {
  const auto starts = dataset_->document_starts();
  const auto end = document + 1 < starts.size() ? static_cast<int64_t>(starts[document + 1])
                                                : dataset_->tokens();
  return {static_cast<int64_t>(starts[document]) + 1, end};
}

int64_t Windows::DocumentOf(int64_t sample, int64_t i) const {
  return static_cast<int64_t>(DocumentWith(WindowAt(sample, i)));
}

int64_t Windows::DocumentLength(int64_t sample, int64_t i) const {
  const Text text = TextOf(DocumentWith(WindowAt(sample, i)));
  return text.end - text.start;
}

Windows::Piece Windows::PieceOf(int64_t window) const {
  const size_t document = DocumentWith(window);
  const Text text = TextOf(document);
  const int64_t start = text.start + (window - first_window_[document]) * context_;
  return {start, static_cast<int>(std::min<int64_t>(context_, text.end - start))};
}

std::vector<int64_t> Windows::ForStatistics(int64_t most) const {
  most = std::clamp<int64_t>(most, 0, count());
  std::vector<int64_t> chosen;
  if (full_ >= most) {
    // Window by window, the n-th full one is chosen where n is the next of the evenly spaced.
    int64_t n = 0;
    for (int64_t window = 0; static_cast<int64_t>(chosen.size()) < most; ++window) {
      if (LengthOf(window) < context_) continue;
      const auto next = static_cast<__int128>(chosen.size()) * full_ / most;
      if (n++ == static_cast<int64_t>(next)) chosen.push_back(window);
    }
    return chosen;
  }
  std::vector<std::pair<int, int64_t>> by_length;  // the longest first
  for (int64_t window = 0; window < count(); ++window) {
    by_length.emplace_back(-LengthOf(window), window);
  }
  std::nth_element(by_length.begin(), by_length.begin() + (most - 1), by_length.end());
  for (int64_t i = 0; i < most; ++i) chosen.push_back(by_length[static_cast<size_t>(i)].second);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

Status Windows::Fill(int64_t sample, int64_t first, int rows, Batch* batch) const {
  std::vector<int64_t> windows;
  for (int r = 0; r < rows; ++r) windows.push_back(WindowAt(sample, first + r));
  return Fill(windows, batch);
}

Status Windows::Fill(std::span<const int64_t> windows, Batch* batch) const {
  std::vector<Piece> pieces;
  int length = 0;
  for (const int64_t window : windows) {
    pieces.push_back(PieceOf(window));
    length = std::max(length, pieces.back().length);
  }
  const size_t size = windows.size() * static_cast<size_t>(length);
  batch->rows = static_cast<int>(windows.size());
  batch->length = length;
  int32_t document_start = 0;
  GYRE_RETURN_IF_ERROR(dataset_->Read(0, {&document_start, 1}));
  batch->tokens.assign(size, document_start);  // also what a short row is filled up with
  batch->targets.assign(size, -1);
  batch->document_starts.clear();
  for (size_t r = 0; r < pieces.size(); ++r) {
    const auto row = static_cast<std::ptrdiff_t>(r) * length;
    const auto targets = batch->targets.begin() + row;
    GYRE_RETURN_IF_ERROR(
        dataset_->Read(pieces[r].start, {targets, static_cast<size_t>(pieces[r].length)}));
    std::copy(targets, targets + pieces[r].length - 1, batch->tokens.begin() + row + 1);
  }
  return OkStatus();
}

}  // namespace gyre
