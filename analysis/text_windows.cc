#include "analysis/text_windows.h"

#include <algorithm>
#include <string>

namespace gyre {
namespace {

// The piece of `length` tokens that begins at `first`.
TokenWindow WindowAt(std::span<const int32_t> text, size_t first, size_t length,
                     int32_t document_start) {
  const auto piece = text.subspan(first, length);
  TokenWindow window;
  if (document_start >= 0) {
    window.targets.assign(piece.begin(), piece.end());
    window.tokens.push_back(document_start);
    window.tokens.insert(window.tokens.end(), piece.begin(), piece.end() - 1);
    return window;
  }
  window.tokens.assign(piece.begin(), piece.end());
  window.targets.assign(piece.begin() + 1, piece.end());
  window.targets.push_back(first + length < text.size() ? text[first + length] : -1);
  return window;
}

}  // namespace

Result<std::vector<TokenWindow>> CutWindows(std::span<const int32_t> text, int32_t document_start,
                                            int vocab_size, int context, int most) {
  if (text.empty()) return InvalidArgument("the text is empty");
  if (text.size() < 2) {
    return InvalidArgument("the text is a single token; attention needs at least two");
  }
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] >= 0 && text[i] < vocab_size) continue;
    return InvalidArgument("token " + std::to_string(i) + " of the text is " +
                           std::to_string(text[i]) + ", and the model's vocabulary has 0 to " +
                           std::to_string(vocab_size - 1) + ": it is of another tokenizer");
  }
  const auto length = static_cast<size_t>(context);
  const size_t full = text.size() / length;
  if (full == 0) {
    return std::vector<TokenWindow>{WindowAt(text, 0, text.size(), document_start)};
  }
  const size_t count = std::min(static_cast<size_t>(most), full);
  std::vector<TokenWindow> windows;
  for (size_t i = 0; i < count; ++i) {
    windows.push_back(WindowAt(text, i * full / count * length, length, document_start));
  }
  return windows;
}

}  // namespace gyre
