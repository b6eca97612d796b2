#include "trainer/data/text_chunks.h"

#include <algorithm>

namespace gyre {
namespace {

bool Continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

size_t NextChunk(std::string_view text, bool last, bool whole_lines) {
  const std::string_view window = text.substr(0, kMaxChunkBytes);
  size_t end = 0;
  if (!window.empty() && window[0] == '\n') {
    end = window.find_first_not_of('\n');
  } else if (whole_lines) {
    end = window.find('\n');
  } else {
    // Plain loops: find_first_of() is several times slower, and this is where tokenizing spends time.
    while (end < window.size() && window[end] == ' ') ++end;
    while (end < window.size() && window[end] != ' ' && window[end] != '\n') ++end;
    if (end == window.size()) end = std::string_view::npos;
  }
  if (end != std::string_view::npos) return end;
  // One byte more than a whole chunk says where the last character ends.
  if (text.size() <= kMaxChunkBytes) return last ? text.size() : 0;
  end = kMaxChunkBytes;
  for (int back = 0; back < 3 && Continues(text[end]); ++back) --end;
  return Continues(text[end]) ? kMaxChunkBytes : end;
}

size_t Utf8Character(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (!Continues(text[i])) return 0;
  }
  const unsigned char second = byte(1);
  const bool bad = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                   (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return bad ? 0 : length;
}

}  // namespace gyre
